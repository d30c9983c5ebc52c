package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// A scenario is something that operators do while agents run.
type scenario struct {
	name     string
	mix      mix
	operate  func(*pool) error
	ancestor bool // with the check that pmcheck replaces, under which runs may fail
}

// A form is how much is done.
type form struct {
	jrubies   int // of each master
	agents    mix // of all scenarios
	runs      int // of agents, at least, in each scenario
	scenarios []scenario
}

func short() form {
	few := mix{quick: 5, slow: 1}
	return form{jrubies: 3, agents: few, runs: 25, scenarios: []scenario{
		{"`systemctl restart puppetserver` on both at once", few, restartAtOnce, false},
		{"drain, reinstall Puppet Server, ready, one after the other", few, reinstallEach, false},
	}}
}

func long() form {
	mixed := mix{quick: 10, slow: 3}
	return form{jrubies: 8, agents: mix{quick: 10, slow: 8}, runs: 100, scenarios: []scenario{
		{"`systemctl restart puppetserver`, one after the other", mixed, restartEach, false},
		{"`systemctl reload puppetserver`, one after the other", mix{slow: 8}, reloadEach, false},
		{"`drain --wait`, reinstalled, `ready --wait`, one after the other", mixed, reinstallEach, false},
		{"reboot of a host", mixed, rebootOne, false},
		{"pmcheck upgraded and downgraded on both", mixed, upgradePmcheck, false},
		{"xinetd: `systemctl restart puppetserver`, one after the other", mixed, restartEach, true},
		{"xinetd: stopped, restarted 10 s later, one after the other", mixed, stopXinetdEach, true},
	}}
}

// TestPool operates one pool under load, first with pmcheck and then with the
// xinetd check that it replaces.
func TestPool(t *testing.T) {
	lab.Real(t)
	size := short()
	if lab.Long() {
		size = long()
	}
	p := startPool(t, alike(2), size.jrubies, size.agents)
	p.balance(quickStart(p.installPmcheck()))
	var rows []row
	replaced := false
	for _, s := range size.scenarios {
		t.Run(s.name+", "+s.mix.String(), func(t *testing.T) {
			p := p.with(t)
			if s.ancestor && !replaced {
				p.installAncestor()
				replaced = true
			}
			rows = append(rows, p.measure(s, size))
		})
	}
	lab.Publish(t, "pool", table(rows))
	t.Logf("measured:\n%s", table(rows))
}

// measure has agents run, first with nothing else going on.
func (p *pool) measure(s scenario, size form) row {
	p.t.Helper()
	p.waitForUp()
	r := row{operation: s.name, mix: s.mix}
	r.fewest = len(p.masters)
	var records []*lab.Record
	for _, b := range p.balancers {
		records = append(records, lab.StartRecord(p.t, 20*time.Millisecond, b.servers))
	}
	l := p.start(s.mix)
	l.waitForRuns(p.t, size.runs/8, time.Time{})
	r.began = time.Now()
	err := s.operate(p)
	r.took = time.Since(r.began)
	if err != nil {
		p.t.Error(err)
	}
	l.waitForRuns(p.t, size.runs, time.Time{})
	l.end()
	r.runs = l.runs
	for i, record := range records {
		changes := record.Stop().Changes()
		p.t.Logf("servers of %s:\n%s", p.balancers[i].name, clocked(changes))
		r.add(changes)
	}
	r.report(p.t)
	p.t.Logf("measured: %s", r)
	if n := len(r.failed()); n > 0 && !s.ancestor {
		p.t.Errorf("%d of %d runs failed", n, len(r.runs))
	}
	return r
}

// A row is what came of one operation.
type row struct {
	operation string
	mix       mix
	runs      []run
	began     time.Time // of the operation
	together
}

func (r row) failed() (list []run) {
	for _, one := range r.runs {
		if one.err != nil {
			list = append(list, one)
		}
	}
	return list
}

func (r row) report(t *testing.T) {
	t.Helper()
	for _, f := range r.failed() {
		t.Logf("failed %s into the operation, %s after it began: %v",
			tenths(f.ended.Sub(r.began)), tenths(f.ended.Sub(f.began)), f.err)
	}
}

func (r row) String() string {
	real := 0
	for _, one := range r.runs {
		if one.real {
			real++
		}
	}
	rest := func(one run) bool { return one.ended.Before(r.began) }
	during := func(one run) bool { return one.ended.After(r.began) && one.began.Before(r.began.Add(r.took)) }
	return fmt.Sprintf("| %s | %s | %d (%d) | %d | %s | %s |",
		r.operation, r.mix, len(r.runs), real, len(r.failed()), r.tail(rest), r.tail(during))
}

// tail is the time that 95% of some of the runs do not exceed, by kind.
func (r row) tail(some func(run) bool) string {
	var parts []string
	for _, slow := range []bool{false, true} {
		var times []time.Duration
		for _, one := range r.runs {
			if one.slow == slow && some(one) {
				times = append(times, one.ended.Sub(one.began))
			}
		}
		if slices.Sort(times); len(times) > 0 {
			parts = append(parts, tenths(times[(len(times)*95+99)/100-1]))
		}
	}
	return strings.Join(parts, ", ")
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// table is the rows as proof.md has them.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| Operation | Catalogs | Runs (real) | Failed | p95 at rest | p95 meanwhile |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
