package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// memberWith returns a master that has been in service for three hours, or held since,
// and what its balancers say of it.
func memberWith(host string, mode drain.Mode, views ...string) member {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := status.Status{Time: now, Services: []status.ServiceStatus{{
		Name:           "server",
		Mode:           mode,
		Answer:         status.Answer{Code: 200},
		InServiceSince: now.Add(-3 * time.Hour),
		Verdict:        check.Verdict{Health: check.Healthy, Reason: check.OK},
		Checks:         []check.Finding{{Pool: &check.Pool{Size: 4, Free: 3}}},
	}}}
	if mode != drain.Ready {
		s.Services[0].Answer.Code = 503
		s.Holds = []drain.Hold{{Holder: "operator", Mode: mode}}
	}
	for _, view := range views {
		b := status.Balancer{Service: "server", Checks: 5, Interval: 2}
		if view != "silent" {
			b.View = &status.View{State: view}
		}
		s.Balancers = append(s.Balancers, b)
	}
	return member{Host: host, Status: &s}
}

func TestFleetIsATable(t *testing.T) {
	leaving := memberWith("m8", drain.Ready, "UP")
	leaving.Status.Holds = []drain.Hold{{Holder: "guard", Mode: drain.Drain, Leaving: drain.LeavingInTurn}}
	dead := memberWith("m9", drain.Ready)
	dead.Status.Services[0].Answer.Code = 503
	dead.Status.Services[0].Verdict = check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Refused}
	var b strings.Builder
	writeMembersTable(&b, []member{
		{Host: "m3", Error: "connection refused"},
		memberWith("m4", drain.Ready, "UP", "DOWN", "UP"),
		memberWith("m5.example.com", drain.Drain, "UP", "MAINT", "NOLB", "DRAIN", "UP", "DOWN", "silent"),
		leaving,
		dead,
	})
	want := `
master          told  since   mode   verdict             send  jrubies   code  holds
m4              200   3h ago  ready  healthy             2/3   3/4 free  -     -
m8              200   3h ago  ready  healthy             1/1   3/4 free  -     guard leaving
m3              -     -       -      no status           -     -         -     -
m5.example.com  503   3h ago  drain  healthy             2/6   3/4 free  -     operator
m9              503   3h ago  ready  unhealthy: refused  0/0   -         -     -

m3: connection refused

2 of 5 masters serve, 1 not known
`
	if diff := cmp.Diff(want[1:], b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFleetMarksCodeThatDiffers(t *testing.T) {
	for code, want := range map[string]string{
		"a a":   "",
		"b a b": "a differs",
		"b a":   "b differs, a differs",
		"a -":   "",
	} {
		var pool []member
		for _, id := range strings.Fields(code) {
			m := memberWith("m", drain.Ready)
			m.Status.Services[0].Checks = []check.Finding{{Code: []check.Environment{
				{Name: "dev", ID: "d"},
				{Name: "production", ID: strings.Trim(id, "-")},
			}}}
			pool = append(pool, m)
		}
		var b strings.Builder
		writeMembersTable(&b, pool)
		marked := regexp.MustCompile(`\S+ differs`).FindAllString(b.String(), -1)
		if got := strings.Join(marked, ", "); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// Below a table of any length, the errors end within a screen.
func TestFleetOfAHundredIsReadable(t *testing.T) {
	var pool []member
	for i := range 100 {
		pool = append(pool, member{Host: fmt.Sprintf("m%02d", i), Error: "timeout"})
	}
	var b strings.Builder
	writeMembersTable(&b, pool)
	const end = "\nm18: timeout\nand 81 more\n\n0 of 100 masters serve, 100 not known\n"
	if !strings.HasSuffix(b.String(), end) {
		t.Error(b.String())
	}
}
