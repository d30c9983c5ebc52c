package budget_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// free is how long it may take until a slot is free: for 15 s after its start a daemon expects that
// a balancer may ask it, and then the slot must settle.
const free = 15*time.Second + budget.Settle + 30*time.Second

// A master is a stand-in with a daemon whose budget is in the database.
type master struct {
	*lab.Site
	db   *lab.Postgres
	name string
}

func startMaster(t *testing.T, db *lab.Postgres, n int) *master {
	t.Helper()
	m := &master{lab.NewSite(t, lab.SiteOptions{Name: name(n)}), db, name(n)}
	db.Trust(m.Master.Files())
	m.configure("")
	m.Start()
	m.WaitServing(30 * time.Second)
	m.waitBudget("reachable", func(b *lab.BudgetStatus) bool { return b.Reachable })
	return m
}

func (m *master) configure(more string) {
	m.TB.Helper()
	m.Configure(fmt.Sprintf("services: [ca]\nbudget: {database: '%s'}\n%s", m.db.URL(), more))
}

// ask makes the daemon ask the database now instead of within a minute, and waits until it has an answer, or an error.
func (m *master) ask() {
	m.TB.Helper()
	began := time.Now()
	m.Signal(syscall.SIGHUP)
	m.waitBudget("asked anew", func(b *lab.BudgetStatus) bool { return b.Asked.After(began) })
}

func (m *master) waitBudget(what string, want func(*lab.BudgetStatus) bool) {
	m.TB.Helper()
	m.WaitStatus(free, func(s lab.Status) error {
		if s.Budget == nil || !want(s.Budget) {
			return fmt.Errorf("%s: the budget is not %s: %+v", m.name, what, s.Budget)
		}
		return nil
	})
}

func (m *master) waitFree() {
	m.TB.Helper()
	lab.WaitFor(m.TB, free, 100*time.Millisecond, func() error {
		if out := m.db.SQL("pmcheck", "select master from pmcheck.slot"); strings.Contains(out, m.name) {
			return fmt.Errorf("%s has a slot", m.name)
		}
		return nil
	})
}

func (m *master) assertRun(status int, text string, args ...string) {
	m.TB.Helper()
	cmd := m.Command(args...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(string(out), text) {
		m.TB.Fatalf("%s: pmcheck %s: exit status %d (%v), want %d and %q:\n%s",
			m.name, strings.Join(args, " "), got, err, status, text, out)
	}
}

// assertRefused asserts that a drain gets no slot, with a text in its error and hint.
func (m *master) assertRefused(text string) {
	m.TB.Helper()
	m.assertRun(7, text, "drain", "--reason", "refused", "--timeout=3s")
	if held := m.Holds.Read().Holds(); len(held) > 0 {
		m.TB.Errorf("%s: a refused drain has set %v", m.name, held)
	}
}

// TestDaemonsKeepTheirSlots: a command claims a slot, the daemon keeps it while the master is held, and returns it
// once the master has settled. A database that does not answer refuses commands, and changes no answer.
func TestDaemonsKeepTheirSlots(t *testing.T) {
	db := startDatabase(t, 3)
	one, two, three := startMaster(t, db, 1), startMaster(t, db, 2), startMaster(t, db, 3)
	one.MustRun("drain", "--reason", "kernel")
	two.assertRefused(one.name + " is out since ")
	two.assertRun(7, "kernel); 1 of 1", "maint", "--timeout=3s")
	two.MustRun("drain", "--service", "ca", "--force") // needs no slot
	two.assertRun(0, one.name, "budget")
	three.configure("max_out: 2\n")
	three.ask()
	three.MustRun("drain")
	three.MustRun("ready")
	one.MustRun("drain", "--reason", "kernel 2") // keeps its slot
	began := time.Now()
	one.MustRun("ready")
	one.waitFree()
	three.waitFree()
	if took := time.Since(began); took < budget.Settle {
		t.Errorf("free %v after ready, before it has settled", took)
	}
	two.assertRun(0, "held: drain", "drain", "--wait", "--timeout=20s")

	db.Stop()
	one.ask()
	one.assertRefused("insist with --force")
	one.waitBudget("unreachable", func(b *lab.BudgetStatus) bool { return !b.Reachable })
	if code, body, err := one.Ask("/"); code != http.StatusOK {
		t.Errorf("balancers are told %d %s, %v", code, body, err)
	}
	one.assertRun(0, "goes on without the budget", "drain", "--force")
	db.Start()
	one.waitBudget("recorded", func(b *lab.BudgetStatus) bool { return b.HasSlot })
}
