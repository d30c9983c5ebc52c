//go:build linux

package pool_test

import (
	"fmt"
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

// budgetedExits returns what takes Puppet Server down on three masters in the same second. reinstall has apt take
// the package from its cache: hosts have no network to get it from. Its maintainer script restarts the service.
func budgetedExits() []exit {
	return []exit{
		{"`systemctl restart puppetserver`", "systemctl restart puppetserver"},
		{"`apt-get install --reinstall puppetserver`",
			"DEBIAN_FRONTEND=noninteractive apt-get install --reinstall --yes --quiet puppetserver"},
		{"reboot", ""},
	}
}

// leaveWithBudget has three masters leave in the same second, with a budget of one in a real PostgreSQL: one
// after the other. It returns rows of the table.
func leaveWithBudget(t *testing.T) (rows string) {
	agents := mix{quick: 4, slow: 7}
	p := startPool(t, alike(3), 4, agents)
	db := p.startDatabase()
	p.balance(quickStart(p.installPmcheck()))
	p.createBudget(db)
	deb := lab.DebianDEB(t, "puppetserver")
	for _, m := range p.masters {
		m.Host.Copy(deb, "/var/cache/apt/archives/"+filepath.Base(deb), 0o644)
	}
	slots := lab.StartRecord(t, time.Second, func() string {
		return db.SQL("pmcheck", "select count(*) from pmcheck.slot where not forced")
	})
	rows = p.leaveTogether("404, budget", budgetedExits(), []time.Duration{0}, agents)
	for _, c := range slots.Stop().Changes() {
		if c.Answer > "1" {
			t.Errorf("masters out by the budget, at most one wanted: %s", slots)
			break
		}
	}
	return rows
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
	db := p.masters[0].StartPostgres(databaseName, databaseIP, names...)
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
	db.SQL("pmcheck", p.masters[0].Host.MustRun("pmcheck", "budget", "--schema"))
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

func (p *pool) reboot(m *lab.PuppetMaster) error {
	began := time.Now()
	m.Host.Reboot()
	p.t.Logf("%s is back after %s", m.Host.Name, tenths(time.Since(began)))
	return nil
}
