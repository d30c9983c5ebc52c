package balancer

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/drain"
)

// A ruleTest is a row of TestWhoMayLoseAMaster. The checks are separated by semicolons, each "balancer
// state weight", such as "lb1 UP 100/200", two seconds apart; "+20m" lets time pass. The hold is set
// where "hold" stands, and want has the answers from there on.
type ruleTest struct {
	name    string
	checks  string
	want    string
	leaving drain.Leaving
	maxOut  string
}

// fakeHolds are one hold on everything but the service serverx.
type fakeHolds struct {
	mode      drain.Mode
	leaving   drain.Leaving
	unhealthy bool
}

func (h fakeHolds) rule(service drain.Service, maxOut answer.MaxOut, now time.Time) Rule {
	leaves := func(service drain.Service) bool { return h.leaving != drain.Firm && service != "serverx" }
	m := answer.Moment{Service: service, Time: now, Mode: h.mode}
	if !h.unhealthy {
		m.Verdict.Health = check.Healthy
	}
	if leaves(service) {
		m.Leaving = h.leaving
	}
	return NewRule(m, leaves, maxOut)
}

func maxOutOf(t *testing.T, setting string) (m answer.MaxOut) {
	t.Helper()
	if err := m.UnmarshalText([]byte(setting)); err != nil {
		t.Fatal(err)
	}
	return m
}

func (tt ruleTest) answers(t *testing.T) (codes []string) {
	t.Helper()
	tracker, now, holds := new(Tracker), time.Now(), fakeHolds{mode: drain.Ready}
	for step := range strings.SplitSeq(tt.checks, ";") {
		now = now.Add(2 * time.Second)
		fields := strings.Fields(step)
		if fields[0] == "hold" {
			holds.mode = drain.Drain
			holds.leaving = tt.leaving
			continue
		}
		if fields[0] == "unhealthy" {
			holds.unhealthy = true
			continue
		}
		if d, err := time.ParseDuration(fields[0]); err == nil {
			now = now.Add(d)
			continue
		}
		held := holds.mode != drain.Ready
		lb, service, _ := strings.Cut(fields[0], "/")
		c := Check{
			Source:  netip.MustParseAddr("198.51.100." + strings.TrimPrefix(lb, "lb")),
			Service: drain.Service("server" + service),
			Codes:   answer.Codes{Drain: http.StatusNotFound},
		}
		if lb == "lb0" { // it hides the hold from itself
			c.Codes.Drain = http.StatusOK
		}
		if lb == "lb9" { // it asks for the hold only
			c.Codes.Unhealthy = http.StatusOK
		}
		if len(fields) > 1 {
			weight, state := fields[len(fields)-1], strings.Join(fields[1:len(fields)-1], " ")
			c.Header = fmt.Sprintf("%s; name=puppet%s/m1; node=%s; weight=%s; scur=0/0; qcur=0", state, service, lb, weight)
		}
		rule := holds.rule(c.Service, maxOutOf(t, cmp.Or(tt.maxOut, "1")), now)
		a, shift := tracker.Answer(c, rule, func(spare bool) answer.Answer {
			if spare && held {
				return answer.Answer{Code: http.StatusNotFound}
			}
			if holds.unhealthy && !c.Codes.HidesVerdict() {
				return answer.Answer{Code: http.StatusServiceUnavailable}
			}
			return answer.Answer{Code: http.StatusOK}
		})
		if shift > 250*time.Millisecond || shift > 0 && a.Code != http.StatusOK {
			t.Errorf("%d after %s", a.Code, shift)
		}
		if held {
			codes = append(codes, fmt.Sprint(a.Code))
		}
	}
	return codes
}

func TestWhoMayLoseAMaster(t *testing.T) {
	const turn, slot, spare = drain.LeavingInTurn, drain.LeavingWithSlot, drain.LeavingBesideSpare
	for _, tt := range []ruleTest{
		{"one of two", "lb1 UP 100/200; lb1 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/200; lb1 NOLB 100/100",
			"200 404 404", turn, ""},
		{"one of two, with plain 503", "lb1 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/200; lb1 UP 2/3 100/200;" +
			"lb1 UP 1/3 100/200; lb1 DOWN 100/100", "200 404 404 404 404", turn, ""},
		{"first seen while it leaves", "hold; lb1 UP 100/200; lb1 UP 100/200; lb1 UP 100/200", "200 200 404", turn, ""},
		{"the other has left", "lb1 UP 100/200; hold; lb1 UP 100/100; lb1 UP 100/100", "200 200", turn, ""},
		{"the other leaves after the first check", "lb1 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/100; lb1 UP 100/200",
			"200 200 200", turn, ""},
		{"the other is back", "lb1 UP 100/200; hold; lb1 UP 100/100; lb1 UP 100/200; lb1 UP 100/200; lb1 UP 100/200",
			"200 200 200 404", turn, ""},
		{"the other dies when it has gone", "lb1 UP 100/200; hold; lb1 UP 100/200; lb1 NOLB 100/100; lb1 NOLB 100/0;" +
			"lb1 UP 100/100", "200 404 200 200", turn, ""},
		{"one of three is missing", "lb1 UP 100/300; hold; lb1 UP 100/200; lb1 UP 100/200; lb1 UP 100/200",
			"200 200 200", turn, ""},
		{"one of three is missing, beside a spare", "lb1 UP 100/300; hold; lb1 UP 100/200; lb1 UP 100/200",
			"200 404", spare, ""},
		{"one of three is missing, with a slot", "lb1 UP 100/300; lb1 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/200;" +
			"lb1 UP 100/200", "200 200 404", slot, ""},
		{"a balancer that comes first has it in, with a slot", "lb1 UP 100/200; lb2 UP 100/200; hold; lb2 UP 100/200;" +
			"lb2 UP 100/200; lb1 UP 100/200; lb1 UP 100/200; lb1 NOLB 100/100; lb2 UP 100/200; lb2 UP 100/200",
			"200 200 200 404 404 200 404", slot, ""},
		{"a balancer that comes first has no other, with a slot", "lb1 UP 100/200; lb2 UP 100/200; hold;" +
			"lb1 UP 100/100; lb2 UP 100/200; lb2 UP 100/200", "200 200 200", slot, ""},
		{"one of three has been missing for long", "lb1 UP 100/300; +1m; lb1 UP 100/200; +15m; lb1 UP 100/200; hold;" +
			"lb1 UP 100/200; lb1 UP 100/200", "200 404", turn, ""},
		{"one of three comes back slowly", "lb1 UP 100/300; hold; lb1 UP 100/207; lb1 UP 100/240; lb1 UP 100/255;" +
			"lb1 UP 100/270; lb1 UP 100/285", "200 200 200 200 404", turn, ""},
		{"two of four may be out", "lb1 UP 100/400; lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300", "200 404",
			turn, "2"},
		{"half of four may be out", "lb1 UP 100/400; lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300", "200 404",
			turn, "50%"},
		{"a third of four is one", "lb1 UP 100/400; lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300", "200 200",
			turn, "33%"},
		{"a hundredth is one", "lb1 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/200", "200 404",
			turn, "1%"},
		{"the lighter of two others is missing", "lb1 UP 100/180; hold; lb1 UP 100/140; lb1 UP 100/140", "200 200", turn, ""},
		{"the lighter of two others is back", "lb1 UP 100/180; lb1 UP 100/140; hold; lb1 UP 100/180; lb1 UP 100/180;" +
			"lb1 UP 100/180", "200 200 404", turn, ""},
		{"two of four may be out, and three weigh less", "lb1 UP 100/220; lb1 UP 100/180; hold; lb1 UP 100/180;" +
			"lb1 UP 100/140; lb1 UP 100/140", "200 200 200", turn, "2"},
		{"a weight of others that changes", "lb1 UP 100/300; lb1 UP 100/290; hold; lb1 UP 100/290; lb1 UP 100/290",
			"200 404", turn, ""},
		{"the weight of all was lowered, and one is missing", "lb1 UP 100/1000; lb1 UP 30/300; +16m; lb1 UP 30/300;" +
			"lb1 UP 30/270; hold; lb1 UP 30/270; lb1 UP 30/270", "200 200", turn, ""},
		{"the weight of all was lowered", "lb1 UP 100/1000; lb1 UP 30/300; +16m; lb1 UP 30/300; hold; lb1 UP 30/300;" +
			"lb1 UP 30/300", "200 404", turn, ""},
		{"the weight of all was raised, and one is missing", "lb1 UP 30/300; lb1 UP 100/1000; lb1 UP 100/900; hold;" +
			"lb1 UP 100/900; lb1 UP 100/900", "200 200", turn, ""},
		{"the last of four", "lb1 UP 100/400; hold; lb1 UP 100/100; lb1 UP 100/100", "200 200", turn, "4"},
		{"the last, beside a spare", "lb1 UP 100/200; hold; lb1 UP 1/3 100/200; lb1 UP 100/100; lb1 UP 100/100",
			"200 200 200", spare, ""},
		{"HAProxy starts", "lb1 UP 100/200; lb1 NOLB 100/100; hold; lb1 UP 1/3 100/200; lb1 UP 100/200; lb1 UP 100/200;" +
			"lb1 UP 100/200", "200 200 200 404", turn, ""},
		{"HAProxy is reloaded beside a firm master: UP before, and not refused", "lb1 UP 100/200; lb1 UP 100/100; hold;" +
			"lb1 UP 1/3 100/200; lb1 UP 100/100", "200 200", turn, ""},
		{"HAProxy is reloaded while this master is let off: UP before, and not refused", "lb1 UP 100/200; hold;" +
			"lb1 UP 100/200; lb1 UP 1/3 100/200; lb1 UP 100/100", "200 200 200", turn, ""},
		{"weight 0", "lb1 UP 0/100; hold; lb1 UP 0/100; lb1 UP 0/100", "200 404", turn, ""},
		{"without a view", "lb1; hold; lb1; lb1", "404 404", turn, ""},
		{"without a view, of holds that cannot be read", "lb1; hold; lb1; lb1", "200 200", drain.LeavingByView, ""},
		{"with a view, of holds that cannot be read", "lb1 UP 100/200; lb1 UP 100/200; lb2; hold; lb1 UP 100/200; lb2;" +
			"lb1 UP 100/200; lb2; lb1 NOLB 100/100; lb2", "200 200 404 200 404 200", drain.LeavingByView, ""},
		{"hidden, of holds that cannot be read", "lb0; hold; lb0", "404", drain.LeavingByView, ""},
		{"two balancers, in order", "lb1 UP 100/200; lb2 UP 100/200; hold; lb2 UP 100/200; lb2 UP 100/200; lb1 UP 100/200;" +
			"lb1 UP 100/200; lb1 NOLB 100/100; lb2 UP 100/200; lb2 UP 100/200", "200 200 200 404 404 200 404", turn, ""},
		{"the first balancer misses a server", "lb1 UP 100/200; lb2 UP 100/200; hold; lb1 UP 100/100; lb2 UP 100/200;" +
			"lb2 UP 100/200", "200 200 200", turn, ""},
		{"a later balancer misses a server", "lb1 UP 100/200; lb2 UP 100/200; hold; lb2 UP 100/100; lb1 UP 100/200;" +
			"lb1 UP 100/200", "200 200 200", turn, ""},
		{"the first balancer has taken it back", "lb1 UP 100/200; lb2 UP 100/200; hold; lb1 UP 100/200; lb1 UP 100/200;" +
			"lb1 NOLB 100/100; lb2 UP 100/200; lb2 UP 100/200; lb1 UP 100/100; lb2 NOLB 100/100",
			"200 404 404 200 404 200 200", turn, ""},
		{"half of the balancers each", "lb1 UP 100/300; lb2 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300;" +
			"lb1 NOLB 100/100; lb2 UP 100/200", "200 404 200 200", turn, ""},
		{"two checks crossed: back at the first check with the master out", "lb1 UP 100/300; hold; lb1 UP 100/300;" +
			"lb1 UP 100/300; lb1 NOLB 100/100", "200 404 200", turn, ""},
		{"crossed, and plain 503: back over several checks", "lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300;" +
			"lb1 UP 1/3 100/300; lb1 DOWN 100/100; lb1 DOWN 1/2 100/100; lb1 UP 100/200", "200 404 404 200 200 200", turn, ""},
		{"crossed, and the other one went back first", "lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300;" +
			"lb1 UP 1/3 100/300; lb1 DOWN 100/100; lb1 DOWN 1/2 100/200; lb1 DOWN 100/200", "200 404 404 200 404 404", turn, ""},
		{"out, and another dies while the last agents finish", "lb1 UP 100/300; hold; lb1 UP 100/300; lb1 UP 100/300;" +
			"lb1 NOLB 100/200; lb1 NOLB 100/100", "200 404 404 404", turn, ""},
		{"another service comes first", "lb1/a UP 100/200; lb1/b UP 100/200; hold; lb1/b UP 100/200; lb1/b UP 100/200;" +
			"lb1/a UP 100/200; lb1/a UP 100/200; lb1/a NOLB 100/100; lb1/b UP 100/200; lb1/b UP 100/200",
			"200 200 200 404 404 200 404", turn, ""},
		{"a balancer that has lost its others for long does not count", "lb1 UP 100/200; lb2 UP 100/200; +20m;" +
			"lb1 UP 100/100; lb2 UP 100/200; hold; lb1 UP 100/100; lb2 UP 100/200; lb2 UP 100/200; lb1 UP 100/100",
			"200 200 404 200", turn, ""},
		{"the only CA does not count", "lb1/a UP 100/100; lb1/b UP 100/200; hold; lb1/a UP 100/100; lb1/b UP 100/200;" +
			"lb1/b UP 100/200; lb1/a UP 100/100", "200 200 404 200", turn, ""},
		{"a service that is not held does not count", "lb1/x UP 100/200; lb2 UP 100/200; hold; lb2 UP 100/200;" +
			"lb2 UP 100/200", "200 404", turn, ""},
		{"unhealthy, and one of two where only the hold counts", "lb1 UP 100/200; lb9 UP 100/200; unhealthy;" +
			"lb1 DOWN 100/0; lb9 UP 100/200; hold; lb9 UP 100/200; lb9 UP 100/200; lb1 DOWN 100/0; lb9 NOLB 100/100",
			"200 404 404 404", turn, ""},
		{"unhealthy, and the last where only the hold counts", "lb1 UP 100/200; lb9 UP 100/200; unhealthy;" +
			"lb1 DOWN 100/0; lb9 UP 100/100; hold; lb9 UP 100/100; lb9 UP 100/100; lb1 DOWN 100/0", "200 200 404", turn, ""},
		{"unhealthy for a moment, and the last", "lb1 UP 100/200; unhealthy; lb1 UP 100/100; hold; lb1 UP 100/100;" +
			"lb1 UP 2/3 100/100", "503 503", turn, ""},
		{"a balancer that hides the hold does not count", "lb0 UP 100/200; lb2 UP 100/200; hold; lb2 UP 100/200;" +
			"lb2 UP 100/200", "200 404", turn, ""},
		{"a view that cannot be read", "lb1 SIDEWAYS 100/200; hold; lb1 SIDEWAYS 100/200; lb1 SIDEWAYS 100/200", "200 200",
			turn, ""},
		{"a view that cannot be read, beside a spare", "lb1 SIDEWAYS 100/200; hold; lb1 SIDEWAYS 100/200;" +
			"lb1 SIDEWAYS 100/200", "200 200", spare, ""},
		{"a view that cannot be read, firm", "lb1 SIDEWAYS 100/200; hold; lb1 SIDEWAYS 100/200", "404", drain.Firm, ""},
		{"the view of another balancer cannot be read", "lb1 UP 100/200; lb2 SIDEWAYS 100/200; hold; lb1 UP 100/200;" +
			"lb1 UP 100/200", "200 200", turn, ""},
		{"firm", "lb1 UP 100/100; hold; lb1 UP 100/100", "404", drain.Firm, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(tt.answers(t), " "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestTwoServersOfABackendDoNotWaitForEachOther: a master that is two servers of one backend, or the same for two
// services, leaves both.
func TestTwoServersOfABackendDoNotWaitForEachOther(t *testing.T) {
	one := Balancer{Node: "lb1", Name: "puppet/m1", Service: "server"}
	for name, other := range map[string]Balancer{
		"another server":  {Node: "lb1", Name: "puppet/m1-ca", Service: "server"},
		"another service": {Node: "lb1", Name: "puppet/m1", Service: "ca"},
	} {
		if one.before(&other) || other.before(&one) {
			t.Errorf("%s: one of the two comes first", name)
		}
	}
}

// TestWhatWouldKeepAReadyMaster: the order of balancers is no blocker before one leaves, and with a budget only a
// spare server matters.
func TestWhatWouldKeepAReadyMaster(t *testing.T) {
	now := time.Now()
	lb := func(node string, total, others int) Balancer {
		b := Balancer{
			Node:         node,
			Name:         "puppet/m1",
			Service:      "server",
			Codes:        answer.Codes{Drain: 404},
			View:         &View{State: "UP", Weight: 100, WeightTotal: total},
			OthersWeight: others,
			UnitWeight:   100,
			fitted:       true,
		}
		if others > 0 {
			b.OthersSeen = now.Add(-time.Minute)
		}
		return b
	}
	hides := lb("lb3", 100, 100)
	hides.Codes.Drain = 200
	const missing = "balancer lb2/puppet has been missing a server for 1m (the others weigh 100 of 200)"
	for _, tt := range []struct {
		name          string
		balancers     []Balancer
		without, with string // a budget
	}{
		{"two that can do without", []Balancer{lb("lb1", 200, 100), lb("lb2", 200, 100), hides}, "", ""},
		{"one misses a server", []Balancer{lb("lb1", 300, 200), lb("lb2", 200, 200)}, missing, ""},
		{"one has no other", []Balancer{lb("lb1", 100, 0)}, "balancer lb1/puppet has no other server than m1",
			"balancer lb1/puppet has no other server than m1"},
	} {
		for budget, want := range map[bool]string{false: tt.without, true: tt.with} {
			r := fakeHolds{mode: drain.Ready}.rule("server", answer.MaxOut{Number: 1}, now)
			if got := blocker.Summary(r.Keeps(tt.balancers, budget)); got != want {
				t.Errorf("%s, budget %v: %q, want %q", tt.name, budget, got, want)
			}
		}
	}
}

// TestKeepsNamesEachBalancerAndItsReason: two backends of one HAProxy are two balancers, and a reason names the backend
// and this master's server in it, as far as the view says.
func TestKeepsNamesEachBalancerAndItsReason(t *testing.T) {
	now := time.Now()
	backend := func(name string, total int) Balancer {
		return Balancer{
			Node:         "lb1",
			Name:         name + "/m1",
			Service:      "server",
			Codes:        answer.Codes{Drain: 404},
			View:         &View{State: "UP", Weight: 100, WeightTotal: total},
			OthersWeight: 100,
			OthersSeen:   now.Add(-54 * time.Second),
			UnitWeight:   100,
			fitted:       true,
		}
	}
	starts := backend("puppet", 200)
	starts.starts = true
	young := backend("puppet", 200)
	young.fitted = false
	for _, tt := range []struct {
		name      string
		balancers List
		want      string
	}{
		{"the other server is out", List{backend("0-turn", 100), backend("puppet", 100)},
			"lb1/0-turn: balancer lb1/0-turn has no other server than m1 now, and has been missing one for 54s; " +
				"lb1/puppet: balancer lb1/puppet has no other server than m1 now, and has been missing one for 54s"},
		{"the other server comes back slowly", List{backend("puppet", 113)},
			"lb1/puppet: balancer lb1/puppet has been missing a server for 54s (the others weigh 13 of 100)"},
		{"the backend for turns cannot do without it", List{backend("0-turn", 113), backend("puppet", 200)},
			"lb1/0-turn: balancer lb1/0-turn has been missing a server for 54s (the others weigh 13 of 100); " +
				"lb1/puppet: balancer lb1/0-turn has been missing a server for 54s (the others weigh 13 of 100)"},
		{"the backend for turns has not let it go", List{backend("0-turn", 200), backend("puppet", 200)},
			"lb1/puppet: balancer lb1/0-turn comes first"},
		{"HAProxy has just started", List{starts},
			"lb1/puppet: balancer lb1/puppet has just started, and may not have checked its other servers yet"},
		{"the other server has just come back", List{young},
			"lb1/puppet: balancer lb1/puppet has had enough other servers in one check only"},
	} {
		var got []string
		r := fakeHolds{mode: drain.Drain, leaving: drain.LeavingInTurn}.rule("server", answer.MaxOut{Number: 1}, now)
		for _, o := range r.Keeps(tt.balancers, false) {
			got = append(got, o.Of+": "+o.Text)
		}
		if got := strings.Join(got, "; "); got != tt.want {
			t.Errorf("%s: %s\n\twant %s", tt.name, got, tt.want)
		}
	}
}
