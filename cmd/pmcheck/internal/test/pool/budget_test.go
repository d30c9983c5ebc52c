//go:build linux

package pool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The database of the budget, as masters know it.
const (
	databaseName = "db.lab.example"
	databaseIP   = "198.18.1.3"
)

// TestBudgetAtTheSameTime does to three masters in the same second what takes Puppet Server
// down, with a budget of one in a real PostgreSQL. They must leave one after the other, and
// no run of an agent may fail.
func TestBudgetAtTheSameTime(t *testing.T) {
	lab.Real(t)
	if os.Getenv("PMCHECK_LONG") == "" {
		t.Skip("takes an hour; part of make e2e")
	}
	const runs = 200 // of each kind, in each operation
	agents := mix{quick: 4, slow: 7}
	p := startPool(t, alike(3), 4, agents)
	db := p.startDatabase()
	p.balance(quickStart(p.installPmcheck()))
	p.createBudget(db)
	deb := lab.DebianDEB(t, "puppetserver")
	for _, m := range p.masters {
		m.Host.Copy(deb, "/var/cache/apt/archives/"+filepath.Base(deb), 0o644)
	}
	var rows []budgeted
	for _, operation := range []struct {
		name string
		do   func(*pool, *lab.PuppetMaster) error
	}{
		{"`systemctl restart puppetserver`", (*pool).restart},
		{"`apt-get install --reinstall puppetserver`", (*pool).reinstall},
		{"reboot", (*pool).reboot},
	} {
		t.Run(operation.name, func(t *testing.T) {
			slots := lab.StartRecord(t, time.Second, func() string {
				return db.SQL("pmcheck", "select count(*), coalesce(bool_or(forced), false) from pmcheck.slot")
			})
			sub := p.with(t)
			r := budgeted{operation: operation.name, together: sub.together(p.masters, 0, agents, runs,
				func(m *lab.PuppetMaster) error { return operation.do(sub, m) })}
			t.Logf("masters out by the budget, and whether forced: %s", slots.Stop())
			r.countSlots(slots.Changes())
			rows = append(rows, r)
			t.Logf("measured: %s", r)
			if r.failed > 0 {
				t.Errorf("%d of %d runs failed", r.failed, r.runs)
			}
			if r.empty > 0 {
				t.Errorf("a balancer had no server for %v", r.empty)
			}
			if r.held > 1 {
				t.Errorf("a balancer had %d servers out for a hold, want 1", r.held)
			}
			if r.out != 1 && !r.forced {
				t.Errorf("%d masters were out by the budget, want 1", r.out)
			}
		})
	}
	lab.Publish(t, "budget-pool", budgetTable(rows))
	t.Logf("measured:\n%s", budgetTable(rows))
}

// startDatabase starts PostgreSQL as leaving.md has it, with certificates of the pool's CA,
// and configures the masters. All settings are the defaults but the database and
// guard.shutdown: the last of three hosts that reboot waits until two others are back, and
// three Puppet Servers on one machine start slowly.
func (p *pool) startDatabase() *lab.Postgres {
	p.t.Helper()
	p.addAddress(databaseIP)
	var names []string
	for _, m := range p.masters {
		names = append(names, m.Certname())
	}
	db := p.masters[0].StartPostgres(databaseName, databaseIP, "admin.lab.example", names...)
	for _, m := range p.masters {
		m.Host.MustRun("sh", "-c", fmt.Sprintf("echo %s %s >>/etc/hosts", databaseIP, databaseName))
		lab.NewSite(p.t, lab.SiteOptions{Puppet: m, YAML: "guard: {shutdown: 25m}\nbudget: {database: \"" +
			db.URL() + "\"}\n"})
	}
	return db
}

// createBudget has a database administrator run the SQL that pmcheck prints, and waits until
// every master knows that nobody is out.
func (p *pool) createBudget(db *lab.Postgres) {
	p.t.Helper()
	db.SQL("pmcheck", p.masters[0].Host.MustRun("pmcheck", "budget", "init", "--print"))
	for _, m := range p.masters {
		m.Host.MustRun("systemctl", "reload", "pmcheck")
		lab.WaitFor(p.t, time.Minute, 500*time.Millisecond, func() error {
			out, err := m.Host.Run("pmcheck", "budget")
			if err == nil && !strings.Contains(out, "0 out, 1 allowed") {
				err = fmt.Errorf("pmcheck budget prints %s", out)
			}
			return err
		})
	}
}

func (p *pool) restart(m *lab.PuppetMaster) error { return p.sh(m, "systemctl restart puppetserver") }

// reinstall has apt take the package from its cache: hosts have no network to get it from.
// Its maintainer script restarts the service.
func (p *pool) reinstall(m *lab.PuppetMaster) error {
	return p.sh(m, "DEBIAN_FRONTEND=noninteractive apt-get install --reinstall --yes --quiet puppetserver")
}

func (p *pool) reboot(m *lab.PuppetMaster) error {
	began := time.Now()
	m.Host.Reboot()
	p.t.Logf("%s is back after %s", m.Host.Name, tenths(time.Since(began)))
	return nil
}

// budgeted is what came of an operation on all masters with a budget.
type budgeted struct {
	operation string
	together
	out    int  // masters, by the budget, at most
	forced bool // one left although another was out
}

// countSlots takes in how many slots there were.
func (r *budgeted) countSlots(changes []lab.Change) {
	for _, c := range changes {
		out, forced := 0, ""
		fmt.Sscanf(strings.Replace(c.Answer, "|", " ", 1), "%d %s", &out, &forced)
		r.out, r.forced = max(r.out, out), r.forced || forced == "t"
	}
}

func (r budgeted) String() string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %s | %d%s | %.0f s |", r.operation, r.runs-r.slow, r.slow, r.failed,
		r.fewest, tenths(r.empty), r.out, map[bool]string{true: ", one late"}[r.forced], r.took.Seconds())
}

func budgetTable(rows []budgeted) string {
	var b strings.Builder
	b.WriteString("| On three masters in the same second | Runs, 1 s | Runs, 20 s | Failed | Fewest UP | No server for " +
		"| Slots | It took |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
