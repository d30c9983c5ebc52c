package leave_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestMisses(t *testing.T) {
	serves := func(d time.Duration) leave.Witness {
		return leave.Witness{Host: "m2", Code: 200, Answer: "200 Puppet Server is running.", For: d}
	}
	out := func(d time.Duration) leave.Witness {
		return leave.Witness{Host: "m3", Code: 503, Answer: "503 drain", For: d}
	}
	silent := leave.Witness{Host: "m4"}
	const nobody = "turn: no other master of the fleet has served for 30s"
	for _, tt := range []struct {
		name   string
		others []leave.Witness
		want   []string
		silent []string
	}{
		{"one serves", []leave.Witness{serves(time.Hour)}, []string{}, nil},
		{"it has served for too short", []leave.Witness{serves(29 * time.Second)}, []string{nobody}, nil},
		{"another is out", []leave.Witness{serves(time.Hour), out(40 * time.Second)},
			[]string{"turn: m3 of the fleet does not serve: 503 drain, for 40s"}, nil},
		{"another has been out for long", []leave.Witness{serves(time.Hour), out(15 * time.Minute)}, []string{}, nil},
		{"the only other one is out", []leave.Witness{out(time.Minute)},
			[]string{"turn: m3 of the fleet does not serve: 503 drain, for 1m"}, nil},
		{"the only other one has been out for long", []leave.Witness{out(time.Hour)},
			[]string{"last: no other master of the fleet serves"}, nil},
		{"a silent one", []leave.Witness{serves(time.Hour), silent}, []string{}, []string{"m4"}},
		{"only a silent one", []leave.Witness{silent}, []string{nobody}, []string{"m4"}},
		{"the fleet is this master", nil, []string{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, silent := leave.Misses(tt.others)
			assertObstacles(t, list, tt.want)
			if diff := cmp.Diff(tt.silent, silent); diff != "" {
				t.Errorf("silent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFleetAsksAsABalancerDoes: a member on an address of this host is this master, and is not asked for
// its word.
func TestFleetKnowsItselfByItsAddress(t *testing.T) {
	asked := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- r }))
	defer server.Close()
	alias := strings.TrimPrefix(server.URL, "http://")
	fleet := leave.NewFleet([]string{"0.0.0.0:1", alias}, []string{"m1.example.com"})
	others, place := fleet(t.Context())
	if place != 0 && place != 1 || len(others) != 1 || others[0].Host == alias {
		t.Errorf("place %d among %v", place, others)
	}
	if r := <-asked; r.UserAgent() != status.FleetAgent || r.URL.Path != "/" || r.Method != http.MethodGet {
		t.Errorf("asked %s %s as %s", r.Method, r.URL, r.UserAgent())
	}
}

func TestFleetKnowsItselfByItsName(t *testing.T) {
	for _, tt := range []struct {
		members, names []string
		others         string
		place          int
	}{
		{[]string{"[::]:1", "0.0.0.0:1", "m1"}, []string{"m1.example.com"}, "[0.0.0.0:1 [::]:1]", 2},
		{[]string{"0.0.0.0:1", "m1", "m1"}, []string{"m1"}, "[0.0.0.0:1]", 1},
	} {
		var hosts []string
		others, place := leave.NewFleet(tt.members, tt.names)(t.Context())
		for _, w := range others {
			hosts = append(hosts, w.Host)
		}
		if got := fmt.Sprint(hosts); got != tt.others || place != tt.place {
			t.Errorf("%v: place %d among %s", tt.members, place, got)
		}
	}
}
