package guard_test

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// A master is a daemon on a socket, whose balancer has one other server or none.
type master struct {
	settings config.Config
	never    bool // there never was another server
	leave    int  // how often the other server leaves together with this one
	forCA    bool // with-hold holds it for catalogs, and another balancer has it as the only CA
	noTurn   bool // guard.turn is 0
	noBudget bool // the budget's database does not answer
	late     bool // the daemon notices a hold, or that it was lifted, half a second late
	seldom   bool // the balancer sends no view, and once it has the master out asks too seldom to count
	inMaint  bool // the balancer has the master in MAINT, and so no longer asks
	unasked  bool // no balancer has asked
	hangs    bool // the daemon accepts, and does not answer any more, half a second after the hold

	mu    sync.Mutex
	modes []drain.Mode // that the guard has set, each once until the next
	left  time.Time    // when the last of them was first seen
	done  bool         // the last agent has finished
}

// start starts the daemon, and returns a guard that asks it.
func (m *master) start(t *testing.T, out io.Writer) *guard.Guard {
	t.Helper()
	m.settings = settings(t)
	if m.noTurn {
		m.settings.Guard.Turn = 0
	}
	if m.noBudget {
		m.settings.Guard.Turn = 48 * time.Second                        // up to 36 s of it are the budget's
		m.settings.Budget.Database = "postgresql://127.0.0.1:1/pmcheck" // no certificate, so it is not even dialled
	}
	if m.hangs {
		m.settings.Guard.Wait = time.Minute
	}
	if m.forCA {
		hold := drain.Hold{Holder: "with-hold", Service: monitor.Server, Mode: drain.Drain}
		if _, err := m.settings.Store().Put(hold); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuard(t, m.settings, out, func() *api.Status {
		s := m.status()
		if m.hangsAt(s) {
			return nil
		}
		return &s
	})
	if m.noBudget {
		g.Slot = wait.NewSlot(m.settings, g.Hold())
	}
	return g
}

func (m *master) hangsAt(s api.Status) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hangs && s.Services[0].Mode == drain.Drain && s.Time.Sub(m.left) > time.Second/2
}

// status is what the daemon says: the balancer follows a hold at once.
func (m *master) status() api.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	mode, _ := m.settings.Store().Read().Mode(monitor.Server, now)
	n := len(m.modes)
	if n == 0 || m.modes[n-1] != mode {
		m.modes, m.left = append(m.modes, mode), now
	}
	if n = len(m.modes); m.late && n > 1 && now.Sub(m.left) < time.Second/2 {
		mode = m.modes[n-2]
	}
	b := api.Balancer{Node: "lb1", Service: monitor.Server, Seen: now, Checks: 9, Interval: 0.1, DrainCode: 404,
		OthersWeight: 100, OthersSeen: now, UnitWeight: 100,
		View: &api.View{State: "UP", Weight: 100, WeightTotal: 200}}
	switch {
	case m.never:
		b.OthersWeight, b.OthersSeen, b.View.WeightTotal = 0, time.Time{}, 100
	case mode == drain.Drain:
		b.View.State, b.View.WeightTotal = "NOLB", 100
		switch together := len(m.modes)/2 <= m.leave; {
		case together && m.late: // the view of a check that this master has just answered
			b.View.State = "UP"
		case together:
			b.View.WeightTotal = 0
		}
	}
	balancers, asked := []api.Balancer{b}, now
	drained := mode == drain.Drain
	switch {
	case m.inMaint:
		balancers, asked = nil, now.Add(-time.Minute)
	case m.unasked:
		balancers, asked = nil, time.Time{}
	case m.seldom && drained && now.Sub(m.left) > time.Second:
		balancers, asked = nil, m.left.Add(time.Second)
	case m.seldom:
		b.View, b.Source = nil, netip.MustParseAddr("198.51.100.1")
		b.Answer, b.Answers = balancer.Told{Code: http.StatusOK}, 9
		if drained {
			b.Answer.Code = http.StatusServiceUnavailable
		}
		balancers = []api.Balancer{b}
	}
	if m.forCA {
		balancers = append(balancers, api.Balancer{Node: "lb2", Service: "ca", Seen: now, Checks: 9, Interval: 0.1,
			DrainCode: 404, View: &api.View{State: "UP", Weight: 100, WeightTotal: 100}})
	}
	pool := &check.Pool{Size: 1}
	if m.unasked || m.agentsRun() && now.Sub(m.left) < 3*time.Second {
		pool.Borrowed = []check.Loan{{Request: "POST /puppet/v3/catalog/web1"}}
	} else if drained {
		m.done = true
	}
	return api.Status{
		Time:          now,
		Started:       now.Add(-time.Hour),
		Certname:      "m1",
		Fleet:         []string{"m1", "m2"},
		Balancers:     balancers,
		BalancerAsked: asked,
		Services: []api.ServiceStatus{{
			Name:    monitor.Server,
			Mode:    mode,
			Verdict: check.Verdict{Health: check.Healthy},
			Checks:  []api.CheckStatus{{Finding: check.Finding{Check: check.CheckJRuby, Pool: pool, Checked: now}}},
		}},
		Probe: api.ProbeStatus{Address: m.settings.Probe.Address},
	}
}

// agentsRun reports whether agents still run for 3 s after the hold.
func (m *master) agentsRun() bool { return m.seldom || m.inMaint }

func TestBeforeStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		master *master
		modes  []drain.Mode
		says   string
	}{
		{"the last server is not drained", &master{never: true}, []drain.Mode{drain.Ready},
			"not drained, serves until it stops: balancer lb1 has no other server"},
		{"drained in its window", &master{}, []drain.Mode{drain.Ready, drain.Drain}, "idle"},
		{"the last server, with no time to wait", &master{never: true, noTurn: true}, []drain.Mode{drain.Ready},
			"not drained, serves until it stops: balancer lb1 has no other server"},
		{"held for catalogs, and the only CA: serves that until it stops", &master{forCA: true},
			[]drain.Mode{drain.Drain}, "not drained, serves until it stops: balancer lb2 has no other server"},
		{"without its budget, drained in its window", &master{noBudget: true},
			[]drain.Mode{drain.Ready, drain.Drain}, "goes on without the budget: "},
		{"another server leaves at the same time", &master{leave: 1},
			[]drain.Mode{drain.Ready, drain.Drain, drain.Ready, drain.Drain},
			"goes back into service: balancer lb1 has no other server left"},
		{"the same, and the daemon notices late", &master{leave: 1, late: true},
			[]drain.Mode{drain.Ready, drain.Drain, drain.Ready, drain.Drain},
			"goes back into service: balancer lb1 has no other server left"},
		{"agents still run when the balancer asks seldom", &master{seldom: true},
			[]drain.Mode{drain.Ready, drain.Drain}, "idle"},
		{"agents still run when the balancer has put the master in MAINT first", &master{inMaint: true},
			[]drain.Mode{drain.Ready, drain.Drain}, "idle"},
		{"the daemon hangs", &master{hangs: true}, []drain.Mode{drain.Ready, drain.Drain}, "idle"},
		{"agents that no balancer has sent are not waited for", &master{unasked: true},
			[]drain.Mode{drain.Ready, drain.Drain}, "no balancer has asked this master for an hour"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tt.master.stops(t, tt.modes, tt.says) })
		})
	}
}

// stops has the service stop, and checks which modes the guard sets meanwhile and what it says.
func (m *master) stops(t *testing.T, modes []drain.Mode, says string) {
	var out strings.Builder
	g := m.start(t, &out)
	began := time.Now()
	if err := g.BeforeStop(t.Context()); err != nil && !errors.Is(err, guard.ErrNotIdle) {
		t.Fatal(err)
	}
	if !slices.Equal(m.modes, modes) {
		t.Errorf("modes %v, want %v", m.modes, modes)
	}
	if !strings.Contains(out.String(), says) {
		t.Errorf("it does not say %q:\n%s", says, &out)
	}
	if _, after, back := strings.Cut(out.String(), "goes back"); back && !strings.Contains(after, "may leave at") {
		t.Errorf("it does not wait for another window:\n%s", &out)
	}
	if m.agentsRun() && !m.done {
		t.Error("the service may stop, and an agent still runs")
	}
	if after := m.left.Sub(began); m.noBudget && after >= m.settings.Guard.Turn {
		t.Errorf("it left after %v, when its turn was over, and not in a window", after)
	}
	_, err := m.settings.Store().Lift(drain.Guard, "")
	if drained := !errors.Is(err, drain.ErrNotFound); drained != (modes[len(modes)-1] == drain.Drain && !m.forCA) {
		t.Errorf("a hold is left: %v", drained)
	}
}
