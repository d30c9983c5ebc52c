//go:build linux

package budget_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// free is how long it may take until a slot is free: for 15 s after its start a daemon expects that
// a balancer may ask it, and then the slot must settle.
const free = 15*time.Second + budget.Settle + 30*time.Second

// A pool is masters with their daemons and one database.
type pool struct {
	t       *testing.T
	db      *lab.Postgres
	masters []*master
}

// A master is a stand-in with a daemon whose budget is in the database.
type master struct {
	*lab.Site
	name string
}

// startPool starts n masters.
func startPool(t *testing.T, n int) *pool {
	t.Helper()
	p := &pool{t: t, db: startDatabase(t, n)}
	for i := range n {
		p.masters = append(p.masters, p.start(name(i+1)))
	}
	for _, m := range p.masters {
		p.waitBudget(m, "reachable", func(b *lab.BudgetStatus) bool { return b.Reachable })
	}
	return p
}

func (p *pool) start(certname string) *master {
	p.t.Helper()
	m := &master{lab.NewSite(p.t, lab.SiteOptions{Name: certname}), certname}
	p.db.Trust(m.Master.Files())
	m.Configure(p.yaml(p.db.URL(), ""))
	m.Start()
	m.WaitServing(30 * time.Second)
	return m
}

func (p *pool) yaml(url, more string) string {
	return fmt.Sprintf("services: [ca]\nbudget:\n  database: %s\n%s", url, more)
}

// with returns the pool for a subtest. Daemons that the subtest starts again outlive it.
func (p *pool) with(t *testing.T) *pool {
	return &pool{t: t, db: p.db, masters: p.masters}
}

// calm returns every master to service, and to a pool without slots. A daemon renews the slot that it
// knows until it has been back for budget.Settle, but it forgets one of another pool.
func (p *pool) calm() {
	p.t.Helper()
	for _, m := range p.masters {
		m.run("ready", "--all")
		m.WaitServing(30 * time.Second)
		m.Configure(p.yaml(p.db.URL(), "  pool: calm\n"))
	}
	p.ask()
	p.db.SQL("pmcheck", "delete from pmcheck.slot")
	for _, m := range p.masters {
		m.Configure(p.yaml(p.db.URL(), ""))
	}
	p.ask()
	for _, m := range p.masters {
		p.waitBudget(m, "free", func(b *lab.BudgetStatus) bool { return b.Reachable && !b.Held && b.Out == 0 })
	}
}

// ask makes every daemon ask the database now instead of within a minute, and waits until
// each has an answer, or an error.
func (p *pool) ask() {
	p.t.Helper()
	began := time.Now()
	for _, m := range p.masters {
		m.Signal(syscall.SIGHUP)
	}
	for _, m := range p.masters {
		p.waitBudget(m, "asked anew", func(b *lab.BudgetStatus) bool { return b.Asked.After(began) })
	}
}

func (p *pool) waitBudget(m *master, what string, want func(*lab.BudgetStatus) bool) time.Duration {
	p.t.Helper()
	return m.WaitStatus(free, func(s lab.Status) error {
		if s.Budget == nil || !want(s.Budget) {
			return fmt.Errorf("%s: the budget is not %s: %+v", m.name, what, s.Budget)
		}
		return nil
	})
}

// waitFree waits until a master has no slot in the database.
func (p *pool) waitFree(m *master) {
	p.t.Helper()
	lab.WaitFor(p.t, free, 100*time.Millisecond, func() error {
		if out := p.db.SQL("pmcheck", "select master from pmcheck.slot"); strings.Contains(out, m.name) {
			return fmt.Errorf("%s has a slot", m.name)
		}
		return nil
	})
}

// run runs a command and returns all of its output, and its exit status.
func (m *master) run(args ...string) (said string, status int) {
	m.TB.Helper()
	cmd := m.Command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.TB.Fatal(err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

// assertRun runs a command, and asserts its exit status and a text in its output.
func (m *master) assertRun(status int, text string, args ...string) string {
	m.TB.Helper()
	said, got := m.run(args...)
	if got != status || !strings.Contains(said, text) {
		m.TB.Fatalf("%s: pmcheck %s: exit status %d, want %d and %q:\n%s",
			m.name, strings.Join(args, " "), got, status, text, said)
	}
	return said
}

// assertRefused asserts that a drain gets no slot, with a text in its error and hint.
func (m *master) assertRefused(text string) {
	m.TB.Helper()
	m.assertRun(7, text, "drain", "--reason", "refused", "--timeout=3s")
	if held := m.Holds.Read().Holds(); len(held) > 0 {
		m.TB.Errorf("%s: a refused drain has set %v", m.name, held)
	}
}

// reboot ends the daemon and removes the holds that end with a reboot, as a reboot does.
func (m *master) reboot() {
	m.TB.Helper()
	m.Kill()
	files, _ := filepath.Glob(filepath.Join(m.Holds.UntilReboot, "*.json"))
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			m.TB.Fatal(err)
		}
	}
}

// settings are those of a guard on the master.
func (m *master) settings() config.Config {
	m.TB.Helper()
	holds := "PMCHECK_HOLDS=" + filepath.Dir(m.Holds.Persistent) // as in its daemon's environment
	loaded, err := config.Load(config.Options{File: m.ConfigFile(), Environ: []string{holds}})
	if err != nil {
		m.TB.Fatal(err)
	}
	return loaded.Config
}
