package monitor

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

const home = "localhost:8140" // which a balancer has

// searcher returns a monitor, which does not run, of a master that was not found yet.
func searcher(t *testing.T, master *checktest.Master) *Monitor {
	t.Helper()
	c := config.Default()
	c.Probe.Address = home
	c.Probe.Assumed = true
	c.Probe.Certname = master.Name
	c.Probe.Files = master.Files()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	hooks := Hooks{Published: func(*State) {}, Probed: func(drain.Service, time.Duration) {}}
	m := New(c, store, slog.New(slog.DiscardHandler), hooks)
	t.Cleanup(func() { m.stop() })
	return m
}

func newMaster(t *testing.T) *checktest.Master {
	t.Helper()
	m, err := checktest.NewMaster(t.TempDir(), "m1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// seen is a host on which a balancer has the address that is assumed, and the unit listens at addresses.
func seen(active string, addresses ...string) sight {
	s := sight{
		unit:      systemd.UnitState{Unit: "u", Active: active, Ran: true, Cgroup: unitGroup, User: puppet},
		listeners: sockets.Listeners{socket("0.0.0.0:8140", balancerGroup, root)},
	}
	for _, address := range addresses {
		s.listeners = append(s.listeners, socket(address, unitGroup, puppet))
	}
	return s
}

// TestTheMasterIsWhereItsCertificateIsShown: what answers at a candidate is the master, or never asked
// again.
func TestTheMasterIsWhereItsCertificateIsShown(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()

	for _, tt := range []struct {
		name     string
		found    func(*checktest.Master) string // the address of the candidate
		moved    bool
		rejected bool
	}{
		{"the master", (*checktest.Master).Address, true, false},
		{"the master, which has an error", func(m *checktest.Master) string {
			m.Set(checktest.Error)
			return m.Address()
		}, true, false},
		{"the master, whose certificate has ended", func(m *checktest.Master) string {
			leaf, err := m.CA.Issue(checktest.Template{
				Name:      m.Name,
				NotBefore: time.Now().Add(-2 * time.Hour),
				NotAfter:  time.Now().Add(-time.Hour),
			})
			own := m.Leaf
			m.Leaf = leaf
			if err = errors.Join(err, m.WriteFiles(), m.Load()); err != nil {
				t.Fatal(err)
			}
			m.Leaf = own
			m.WriteFiles()
			return m.Address()
		}, true, false},
		{"a master of another CA", func(*checktest.Master) string { return newMaster(t).Address() }, false, true},
		{"a port without TLS", func(*checktest.Master) string { return plain.Listener.Addr().String() }, false, true},
		{"a port that refuses", func(*checktest.Master) string { return silent.Addr().String() }, false, false},
	} {
		master := newMaster(t)
		m := searcher(t, master)
		candidate := tt.found(master)

		m.see(t.Context(), seen("active", candidate))
		m.tried(t.Context(), <-m.trials)
		if got := m.config.Probe.Address == candidate; got != tt.moved {
			t.Errorf("%s: probed at %s, want at the candidate %v", tt.name, m.config.Probe.Address, tt.moved)
		}
		if got := len(m.rejected) > 0; got != tt.rejected {
			t.Errorf("%s: rejected %v, want %v", tt.name, m.rejected, tt.rejected)
		}

		m.see(t.Context(), seen("active", candidate))
		if asksAgain := !tt.moved && !tt.rejected; m.searching != asksAgain {
			t.Errorf("%s: asked again %v, want %v", tt.name, m.searching, asksAgain)
		}
	}
}

// TestAHealthyMasterIsPreferred: a candidate where the master is not healthy is left for one where it is,
// and never the other way round.
func TestAHealthyMasterIsPreferred(t *testing.T) {
	master := newMaster(t)
	other, err := checktest.NewMasterWithCA(t.TempDir(), master.Name, "127.0.0.1:0", master.CA)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.Set(checktest.Error)

	m := searcher(t, master)
	both := seen("active", other.Address(), master.Address())
	steps := func() string {
		m.see(t.Context(), both)
		if m.searching {
			m.tried(t.Context(), <-m.trials)
		}
		return m.config.Probe.Address
	}
	if got := steps(); got != master.Address() {
		t.Fatalf("probed at %s, want %s", got, master.Address())
	}
	master.Set(checktest.Error)
	if got := steps(); got != master.Address() {
		t.Errorf("probed at %s although neither is healthy, want %s", got, master.Address())
	}
	other.Set(checktest.Running)
	if got := steps(); got != other.Address() {
		t.Errorf("probed at %s, want the healthy %s", got, other.Address())
	}
}

// TestWhereTheMasterWasFound is kept over a reload, a restart of the daemon, and while systemd does not answer, until
// the configuration names the address, or the unit has the port that was assumed.
func TestWhereTheMasterWasFound(t *testing.T) {
	master := newMaster(t)
	m := searcher(t, master)
	assumed := m.config
	m.see(t.Context(), seen("active", master.Address()))
	m.tried(t.Context(), <-m.trials)
	wantAddress := func(when, want string) {
		t.Helper()
		if got := m.config.Probe.Address; got != want {
			t.Errorf("%s: probed at %s, want %s", when, got, want)
		}
	}
	wantAddress("found", master.Address())
	m.adopt(assumed)
	wantAddress("after a reload", master.Address())
	m.see(t.Context(), sight{listeners: seen("").listeners})
	wantAddress("systemd does not answer", master.Address())

	next := searcher(t, master)
	next.Recall(Memory{Address: master.Address()})
	if got := next.State().Address; got != master.Address() {
		t.Errorf("the next daemon probes at %s, want %s", got, master.Address())
	}

	s := seen("active")
	s.listeners = sockets.Listeners{socket("[::]:8140", unitGroup, puppet)}
	m.see(t.Context(), s)
	wantAddress("the unit has the port", home)

	given := assumed
	given.Probe.Assumed = false
	m.adopt(given)
	m.see(t.Context(), seen("active", master.Address()))
	wantAddress("a source names the address", home)
	next.Recall(Memory{Address: "127.0.0.1:1"})
	given.Probe.Address = "localhost:8141"
	next.adopt(given)
	next.Recall(Memory{Address: "127.0.0.1:1"})
	if got := next.State().Address; got != "localhost:8141" {
		t.Errorf("the next daemon probes at %s, which its configuration does not name", got)
	}
}

// TestNothingThatAnswersIsAStoppedMaster: once its unit has run, also if systemd has forgotten that.
func TestNothingThatAnswersIsAStoppedMaster(t *testing.T) {
	m := searcher(t, newMaster(t))
	unit := func(s sight) check.Finding {
		m.see(t.Context(), s)
		return m.findings.latest[check.CheckUnit]
	}
	never := seen("inactive")
	never.unit.Ran = false
	if f := unit(never); f.State != check.StateNone {
		t.Errorf("a unit that has not run: %+v", f)
	}
	if f := unit(seen("active")); f.State != check.StateOK {
		t.Errorf("a unit that runs: %+v", f)
	}
	if f := unit(never); f.State != check.StateBad || f.Reason != check.UnitStopped {
		t.Errorf("a unit that ran, and is stopped: %+v", f)
	}
	m.config.Probe.Assumed = false
	if f := unit(never); f.State != check.StateNone {
		t.Errorf("a source names the address: %+v", f)
	}
}
