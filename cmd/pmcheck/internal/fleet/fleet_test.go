package fleet_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
)

func texts(blockers []blocker.Blocker) string {
	var list []string
	for _, o := range blockers {
		list = append(list, string(o.Kind)+": "+o.Text)
	}
	return strings.Join(list, "; ")
}

func TestJudge(t *testing.T) {
	serves := func(d time.Duration) fleet.Witness { return fleet.Witness{Host: "m2", Code: 200, For: d} }
	out := func(d time.Duration) fleet.Witness { return fleet.Witness{Host: "m3", Code: 503, For: d} }
	silent := fleet.Witness{Host: "m4"}
	const nobody = "needed: no other master of the fleet is known to have served for 30s"
	for _, tt := range []struct {
		name   string
		others []fleet.Witness
		want   string
	}{
		{"two may be out", []fleet.Witness{serves(time.Hour), out(time.Minute)}, ""},
		{"two may be out, and are", []fleet.Witness{serves(time.Hour), out(40 * time.Second), out(40 * time.Second)},
			"needed: m3 of the fleet does not serve: 503, for 40s; needed: m3 of the fleet does not serve: 503, for 40s"},
		{"two may be out, and the only other is", []fleet.Witness{out(40 * time.Second)}, nobody},
		{"one serves", []fleet.Witness{serves(30 * time.Second)}, ""},
		{"it has served for too short", []fleet.Witness{serves(29 * time.Second)}, nobody},
		{"another is out", []fleet.Witness{serves(time.Hour), out(40 * time.Second)},
			"needed: m3 of the fleet does not serve: 503, for 40s"},
		{"another has been out for long", []fleet.Witness{serves(time.Hour), out(15 * time.Minute)}, ""},
		{"the only other one has been out for long", []fleet.Witness{out(time.Hour)},
			"only_server: no other master of the fleet serves"},
		{"a silent one", []fleet.Witness{serves(time.Hour), silent}, ""},
		{"only a silent one", []fleet.Witness{silent}, nobody + "; no answer from m4"},
		{"the fleet is this master", nil, ""},
	} {
		maxOut := answer.MaxOut{Number: 1}
		if strings.HasPrefix(tt.name, "two may") {
			maxOut.Number = 2
		}
		v := fleet.Judge(tt.others, maxOut)
		if got := texts(v.Blockers); got != tt.want || (len(v.Silent) > 0) != strings.Contains(tt.name, "silent") {
			t.Errorf("%s: %s, silent %q; want %s", tt.name, got, v.Silent, tt.want)
		}
	}

	three := []fleet.Witness{serves(time.Hour), serves(time.Hour), out(time.Minute)}
	if list := fleet.Judge(three, answer.MaxOut{Number: 50, Percent: true}).Blockers; len(list) > 0 {
		t.Errorf("half of a fleet of four, this master included, may be out: %s", texts(list))
	}
}

// TestFleetKnowsItself as a member on an address of this host, whether it answers or not, and does not count it as
// another. Others are asked as a balancer asks.
func TestFleetKnowsItself(t *testing.T) {
	asked := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- r }))
	defer server.Close()
	alias := strings.TrimPrefix(server.URL, "http://")
	for _, own := range [][]string{{alias, alias}, {"127.0.0.1:1"}} {
		others, place := fleet.Asker(append(own, "[::]:1", "0.0.0.0:1"), "m1")(t.Context())
		if place != 1 || len(others) != 2 || others[0].Host != "0.0.0.0:1" || others[1].Host != "[::]:1" {
			t.Errorf("%s has place %d among %v", own, place, others)
		}
	}
	if r := <-asked; r.UserAgent() != fleet.UserAgent || r.URL.Path != "/" || r.Method != http.MethodGet {
		t.Errorf("asked %s %s as %s", r.Method, r.URL, r.UserAgent())
	}
}
