//go:build linux

package pool_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// checkInterval is the time between two checks in what pmcheck haproxy prints.
const checkInterval = 2 * time.Second

// TestRestartsAtTheSameTime restarts Puppet Server on several masters within seconds,
// as an operator does who knows no better, with nothing but the guard between that and
// an empty pool.
func TestRestartsAtTheSameTime(t *testing.T) {
	lab.Real(t)
	slows, quicks := mix{slow: 4}, mix{quick: 4}
	p := startPool(t, 3, 3, mix{quick: 4, slow: 4})
	fleet := "fleet: [m1, m2.lab.example, \"http://m3:9200\"]\n"
	for _, m := range p.masters {
		lab.NewSite(t, lab.SiteOptions{Puppet: m, YAML: fleet})
	}
	// Under slowstart a server counts as back when it has half of its weight. That takes
	// 30 s for each with what pmcheck haproxy prints, and changes nothing else.
	p.balance(strings.Replace(p.installPmcheck(), "slowstart 60s", "slowstart 5s", 1))
	var rows []together
	t.Run("typed on each within ten seconds, with fleet", func(t *testing.T) {
		logged := p.logged()
		r := p.with(t).restartTogether(p.masters, 4*time.Second, slows)
		rows = append(rows, r)
		if r.failed > 0 {
			t.Errorf("%d of %d runs failed", r.failed, r.runs)
		}
		if r.fewest < 2 {
			t.Errorf("only %d servers were UP", r.fewest)
		}
		for i, b := range p.balancers {
			if log := b.Log()[logged[i]:]; strings.Contains(log, " is DOWN") {
				t.Errorf("%s has had a server DOWN:\n%s", b.name, log)
			}
		}
	})
	if os.Getenv("PMCHECK_LONG") != "" {
		rows = append(rows, p.withoutFleet(slows, quicks)...)
	}
	lab.Publish(t, "together", togetherTable(rows))
	t.Logf("measured:\n%s", togetherTable(rows))
}

// withoutFleet restarts the masters in the same second: three real ones, and then three
// and two whose Puppet Server is a stand-in, ten times each.
func (p *pool) withoutFleet(slows, quicks mix) (rows []together) {
	t := p.t
	for _, m := range p.masters {
		m.Host.MustRun("rm", "/etc/pmcheck/pmcheck.yaml")
		m.Host.MustRun("systemctl", "reload", "pmcheck")
	}
	t.Run("in the same second, without fleet", func(t *testing.T) {
		rows = append(rows, p.with(t).tryTogether(p.masters, 1, slows)...)
	})
	for _, m := range p.masters {
		p.replace(m)
	}
	clear(p.puppets) // it has no catalogs for real agents
	t.Run("three, ten times", func(t *testing.T) {
		rows = append(rows, p.with(t).tryTogether(p.masters, 10, quicks)...)
	})
	p.retire(p.masters[2])
	t.Run("two, ten times", func(t *testing.T) {
		rows = append(rows, p.with(t).tryTogether(p.masters[:2], 10, quicks)...)
	})
	return rows
}

// tryTogether restarts masters in the same second, again and again: the balancers must
// not be without a server in the median, and for three checks at most.
func (p *pool) tryTogether(masters []*lab.PuppetMaster, tries int, m mix) (rows []together) {
	p.t.Helper()
	var empty []time.Duration
	for range tries {
		r := p.restartTogether(masters, 0, m)
		rows, empty = append(rows, r), append(empty, r.empty)
	}
	slices.Sort(empty)
	worst, median := empty[tries-1], empty[(tries-1)/2]
	p.t.Logf("measured: without a server for %v in the median, %v at worst", median, worst)
	if worst > 3*checkInterval {
		p.t.Errorf("HAProxy had no server for %v: more than three checks", worst)
	}
	if tries > 1 && median > 0 {
		p.t.Errorf("HAProxy had no server for %v in the median", median)
	}
	return rows
}

// together is what came of restarts at the same time.
type together struct {
	masters      int
	apart        time.Duration
	took         time.Duration
	runs, failed int
	slow         int           // of the runs, those with a slow catalog
	fewest       int           // servers that were UP, of any balancer
	empty        time.Duration // the longest time in which a balancer had none
}

// restartTogether types the restart on each master, so much after the one before, and
// returns when every one is UP again.
func (p *pool) restartTogether(masters []*lab.PuppetMaster, apart time.Duration, m mix) (r together) {
	p.t.Helper()
	r = p.together(masters, apart, m, 0, p.restart)
	p.t.Logf("measured: %s", r)
	return r
}

// together does something to each master, so much after the one before, and returns when
// every one is UP again and so many runs of each kind have ended.
func (p *pool) together(masters []*lab.PuppetMaster, apart time.Duration, m mix, runs int,
	do func(*lab.PuppetMaster) error) (r together) {
	p.t.Helper()
	p.waitForUp()
	r = together{masters: len(masters), apart: apart, fewest: len(masters)}
	var records []*lab.Record
	for _, b := range p.balancers {
		records = append(records, lab.StartRecord(p.t, 20*time.Millisecond, b.servers))
	}
	l := p.start(p.t, m)
	l.waitForRuns(p.t, 1) // catalogs are under way
	began := time.Now()
	var all sync.WaitGroup
	for i, m := range masters {
		all.Go(func() {
			time.Sleep(time.Duration(i) * apart)
			if err := do(m); err != nil {
				p.t.Error(err)
			}
		})
	}
	all.Wait()
	p.waitForUp()
	r.took = time.Since(began)
	l.waitForEach(p.t, m, runs)
	l.end()
	for _, one := range l.runs {
		r.slow += btoi(one.slow)
		if r.runs++; one.err != nil {
			r.failed++
			p.t.Logf("failed %s into it: %v", tenths(one.ended.Sub(began)), one.err)
		}
	}
	for i, record := range records {
		record.Stop()
		p.t.Logf("servers of %s that were UP: %s", p.balancers[i].name, record)
		r.add(record.Changes())
	}
	for _, m := range masters {
		p.t.Logf("%s\n%s", m.Host.Name, m.Host.Journal("pmcheck-guard@puppetserver"))
	}
	return r
}

// servers is how many servers are UP.
func (b *balancer) servers() string {
	stats, err := b.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	up := 0
	for _, s := range stats {
		up += btoi(strings.HasPrefix(s.Status, "UP"))
	}
	return fmt.Sprint(up)
}

// add takes in how many servers one balancer had.
func (r *together) add(changes []lab.Change) {
	for i, c := range changes {
		if c.Answer == lab.NoAnswer {
			continue
		}
		up := 0
		fmt.Sscan(c.Answer, &up)
		if r.fewest = min(r.fewest, up); up == 0 {
			until := time.Now()
			if i+1 < len(changes) {
				until = changes[i+1].At
			}
			r.empty = max(r.empty, until.Sub(c.At))
		}
	}
}

// retire takes a master out of the balancers for good.
func (p *pool) retire(m *lab.PuppetMaster) {
	p.t.Helper()
	for _, b := range p.balancers {
		b.Admin("set server puppet/" + m.Host.Name + " state maint")
	}
	m.Host.MustRun("systemctl", "stop", "puppetserver")
}

// logged returns how much the balancers have logged so far.
func (p *pool) logged() (lengths []int) {
	p.waitForUp()
	for _, b := range p.balancers {
		lengths = append(lengths, len(b.Log()))
	}
	return lengths
}

func (r together) String() string {
	return fmt.Sprintf("| %d, %.0f s apart | %d | %d | %d | %s | %.0f s |",
		r.masters, r.apart.Seconds(), r.runs, r.failed, r.fewest, tenths(r.empty), r.took.Seconds())
}

func togetherTable(rows []together) string {
	var b strings.Builder
	b.WriteString("| Masters restarted | Runs | Failed | Fewest UP | No server for | It took |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
