package pool_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An exit is something that takes a master out, and has it back in the end. Without a line the host reboots.
type exit struct{ name, line string }

// exits returns what operators type on several masters at once.
func exits() []exit {
	return []exit{
		{"`systemctl restart puppetserver`", "systemctl restart puppetserver"},
		{"`systemctl reload puppetserver`", "systemctl reload puppetserver"},
		{"`pmcheck drain`, `ready --wait`", "pmcheck drain; pmcheck ready --wait"},
	}
}

// budgetedExits returns what takes Puppet Server down on three masters in the same second. reinstall has apt take
// the package from its cache: hosts have no network to get it from. Its maintainer script restarts the service.
func budgetedExits() []exit {
	return []exit{
		{"`apt-get install --reinstall puppetserver`",
			"DEBIAN_FRONTEND=noninteractive apt-get install --reinstall --yes --quiet puppetserver"},
		{"reboot", ""},
	}
}

// takeAll takes every master out, each so long after the one before, and returns when all are UP again.
func (e exit) takeAll(p *pool, apart time.Duration) error {
	var all errgroup.Group
	for i, m := range p.masters {
		all.Go(func() error {
			time.Sleep(time.Duration(i) * apart)
			if e.line != "" {
				return p.sh(m, e.line)
			}
			m.Host.Reboot()
			return nil
		})
	}
	err := all.Wait()
	p.waitForUp()
	return err
}

// TestTogether takes masters out within seconds of each other, as an operator does who knows no better: no
// run may fail, and no balancer may have two servers missing. The short form restarts three masters. The long
// one does to two masters, by HAProxy 2.6 and 3.0, what operators type, with the backend of README.md and
// with a drain that is answered 503.
func TestTogether(t *testing.T) {
	lab.Real(t)
	agents := mix{slow: 4}
	table := "| Typed on each master | Drain | Masters | Runs | Failed | Fewest UP | No server for | It took |\n" +
		"| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
	all := func(t *testing.T, drain string, apart time.Duration, change *strings.Replacer) {
		p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{""}, balancer: "trixie"}, 3, agents)
		p.balance(change.Replace(quickStart(p.installPmcheck())))
		table += p.leaveTogether(drain, exits(), apart, agents)
	}
	if lab.Long() {
		t.Run("404", func(t *testing.T) { all(t, "404", 6*time.Second, strings.NewReplacer()) })
		t.Run("503", func(t *testing.T) {
			all(t, "503", 0, strings.NewReplacer("/?drain=404", "/", "    http-check disable-on-404\n", ""))
		})
		t.Run("budget", func(t *testing.T) { table += leaveWithBudget(t) })
	} else {
		p := startPool(t, alike(3), 3, agents)
		p.balance(quickStart(p.installPmcheck()))
		table += p.leaveTogether("404", exits()[:1], 4*time.Second, agents)
	}
	lab.Publish(t, "together", table)
	t.Logf("measured:\n%s", table)
}

// quickStart shortens slowstart: a server counts as back when it has half of its weight, which takes 30 s for
// each with the backend of README.md and changes nothing else.
func quickStart(backend string) string {
	return strings.Replace(backend, "slowstart 60s", "slowstart 5s", 1)
}

// leaveTogether has every master of the pool leave in each way, and returns the rows of the table.
func (p *pool) leaveTogether(drain string, ways []exit, apart time.Duration, agents mix) (rows string) {
	for _, way := range ways {
		name := fmt.Sprintf("%s, %.0f s apart, a drain is answered %s", way.name, apart.Seconds(), drain)
		p.t.Run(name, func(t *testing.T) {
			sub := p.with(t)
			r := sub.measure(scenario{
				name:    name,
				mix:     agents,
				operate: func(p *pool) error { return way.takeAll(p, apart) },
			}, form{runs: 8}) // one before it begins
			rows += fmt.Sprintf("| %s | %s | %d, %.0f s apart | %d | %d | %d | %s | %.0f s |\n", way.name, drain,
				len(p.masters), apart.Seconds(), len(r.runs), len(r.failed()), r.fewest, tenths(r.empty), r.took.Seconds())
			if r.fewest < len(p.masters)-1 {
				t.Errorf("only %d servers were UP", r.fewest)
			}
			for _, m := range p.masters {
				if t.Failed() {
					t.Logf("%s\n%s", m.Host.Name, m.Host.Journal("pmcheck-guard@puppetserver", "pmcheck"))
				}
			}
		})
	}
	return rows
}

// together holds what balancers had meanwhile.
type together struct {
	took   time.Duration
	fewest int           // servers that were UP, of any balancer
	empty  time.Duration // the longest time in which a balancer had none
}

// add updates r from one balancer's record.
func (r *together) add(changes []lab.Change) {
	for i, c := range changes {
		if c.Answer == lab.NoAnswer {
			continue
		}
		up := strings.Count(c.Answer, " UP ")
		if r.fewest = min(r.fewest, up); up == 0 {
			until := time.Now()
			if i+1 < len(changes) {
				until = changes[i+1].At
			}
			r.empty = max(r.empty, until.Sub(c.At))
		}
	}
}

// clocked formats changes with wall-clock times, one per line, to be compared with journals.
func clocked(changes []lab.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n", c.At.Format("15:04:05.000"), c.Answer)
	}
	return b.String()
}

// leaveWithBudget has three masters leave in the same second, with a budget of one in a real PostgreSQL, as
// leaving.md has it, with certificates of the pool's CA: one after the other. All settings are the defaults but the
// database and guard.shutdown: the last of three hosts that reboot waits until two others are back, and three Puppet
// Servers on one machine start slowly. It returns rows of the table.
func leaveWithBudget(t *testing.T) (rows string) {
	agents := mix{quick: 4, slow: 4}
	p := startPool(t, alike(3), 4, agents)
	db := p.startDatabase()
	deb := lab.DebianDEB(t, "puppetserver")
	for _, m := range p.masters {
		m.Host.WriteFile(daemonConf, fmt.Sprintf("guard: {shutdown: 25m}\nbudget: {database: %q}\n", db.URL()), 0o644)
		m.Host.Copy(deb, "/var/cache/apt/archives/"+filepath.Base(deb), 0o644)
	}
	p.balance(quickStart(p.installPmcheck()))
	p.useBudget(db)
	slots := lab.StartRecord(t, time.Second, func() string {
		return db.SQL("pmcheck", "select count(*) from pmcheck.slot where not forced")
	})
	rows = p.leaveTogether("404, budget", budgetedExits(), 0, agents)
	for _, c := range slots.Stop().Changes() {
		if c.Answer > "1" {
			t.Errorf("masters out by the budget, at most one wanted: %s", slots)
			break
		}
	}
	return rows
}

// startDatabase starts the PostgreSQL of a budget, which the masters know by name and may log in to.
func (p *pool) startDatabase() *lab.Postgres {
	p.t.Helper()
	const name, ip = "db.lab.example", "198.18.1.3"
	p.addAddress(ip)
	var names []string
	for _, m := range p.masters {
		names = append(names, m.Certname())
		m.Host.MustRun("sh", "-c", fmt.Sprintf("echo %s %s >>/etc/hosts", ip, name))
	}
	return p.masters[0].StartPostgres(name, ip, names...)
}

// useBudget makes the tables of a budget, and waits until every master can use them.
func (p *pool) useBudget(db *lab.Postgres) {
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
