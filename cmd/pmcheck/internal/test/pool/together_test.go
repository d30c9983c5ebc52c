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

// checkInterval is the time between two checks in the backend of README.md.
const checkInterval = 2 * time.Second

// TestRestartsAtTheSameTime restarts Puppet Server on three masters within seconds, as an
// operator does who knows no better. The guard of each host must keep at least two servers UP.
func TestRestartsAtTheSameTime(t *testing.T) {
	lab.Real(t)
	agents := mix{slow: 4}
	const masters, jrubies = 3, 3
	p := startPool(t, alike(masters), jrubies, agents)
	// Under slowstart a server counts as back when it has half of its weight. That takes
	// 30 s for each with the backend of README.md, and changes nothing else.
	p.balance(strings.Replace(p.installPmcheck(), "slowstart 60s", "slowstart 5s", 1))
	var rows []together
	t.Run("typed on each within ten seconds", func(t *testing.T) {
		logged := p.logged()
		r := p.with(t).restartTogether(p.masters, 4*time.Second, agents)
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
	lab.Publish(t, "together", togetherTable(rows))
	t.Logf("measured:\n%s", togetherTable(rows))
}

// TestTriesAtTheSameTime restarts two masters in the same second, ten times, and then three,
// without a budget: nothing but the guard of each host.
func TestTriesAtTheSameTime(t *testing.T) {
	lab.Real(t)
	if os.Getenv("PMCHECK_LONG") == "" {
		t.Skip("takes an hour; part of make e2e")
	}
	m := mix{quick: 4}
	table := "| Masters | Tries | Runs | Failed | Fewest UP | No server for: median | worst | A try took |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
	for _, masters := range []int{2, 3} {
		t.Run(fmt.Sprint(masters), func(t *testing.T) {
			p := startPool(t, alike(masters), 3, m)
			p.balance(strings.Replace(p.installPmcheck(), "slowstart 60s", "slowstart 5s", 1))
			table += tries(p.tryTogether(p.masters, 10, m))
		})
	}
	lab.Publish(t, "tries", table)
	t.Logf("measured:\n%s", table)
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
	worst, median := slices.Max(empty), medianOf(empty)
	p.t.Logf("measured: without a server for %v in the median, %v at worst", median, worst)
	if worst > 3*checkInterval {
		p.t.Errorf("HAProxy had no server for %v: more than three checks", worst)
	}
	if tries > 1 && median > 0 {
		p.t.Errorf("HAProxy had no server for %v in the median", median)
	}
	return rows
}

// medianOf returns the median, the lower one if the number of values is even.
func medianOf(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)/2]
}

// tries is one row for all tries with a pool.
func tries(rows []together) string {
	sum := together{fewest: rows[0].masters}
	var empty, took []time.Duration
	for _, r := range rows {
		sum.runs, sum.failed, sum.fewest = sum.runs+r.runs, sum.failed+r.failed, min(sum.fewest, r.fewest)
		empty, took = append(empty, r.empty), append(took, r.took)
	}
	return fmt.Sprintf("| %d | %d | %d | %d | %d | %s | %s | %.0f s |\n", rows[0].masters, len(rows), sum.runs, sum.failed,
		sum.fewest, tenths(medianOf(empty)), tenths(slices.Max(empty)), medianOf(took).Seconds())
}

// together holds the results of simultaneous restarts.
type together struct {
	masters      int
	apart        time.Duration
	took         time.Duration
	runs, failed int
	slow         int           // of the runs, those with a slow catalog
	fewest       int           // servers that were UP, of any balancer
	held         int           // greatest number of servers that a balancer had in NOLB (held) at the same time
	empty        time.Duration // the longest time in which a balancer had none
}

// restartTogether types the restart on each master, each apart after the previous one, and
// returns when every one is UP again.
func (p *pool) restartTogether(masters []*lab.PuppetMaster, apart time.Duration, m mix) (r together) {
	p.t.Helper()
	r = p.together(masters, apart, m, 0, p.restart)
	p.t.Logf("measured: %s", r)
	return r
}

// together calls do for each master, each apart after the previous one, and returns when
// every one is UP again and runs runs of each kind have ended.
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
		changes := record.Stop().Changes()
		p.t.Logf("servers of %s:\n%s", p.balancers[i].name, clocked(changes))
		r.add(changes)
	}
	if r.failed == 0 && r.fewest >= r.masters-1 {
		return r
	}
	for _, m := range masters {
		p.t.Logf("%s\n%s", m.Host.Name, m.Host.Journal("pmcheck-guard@puppetserver", "pmcheck"))
	}
	return r
}

// servers returns the state of each server and the status of its last health check, as
// "m1 UP L7OK, m2 NOLB L7OKC".
func (b *balancer) servers() string {
	stats, err := b.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	var states []string
	for _, s := range stats {
		state, _, _ := strings.Cut(s.Status, " ") // of "UP 1/3"
		states = append(states, s.Server+" "+state+" "+strings.TrimPrefix(s.CheckStatus, "* "))
	}
	return strings.Join(states, ", ")
}

// clocked formats changes with wall-clock times, one per line, to be compared with journals.
func clocked(changes []lab.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n", c.At.Format("15:04:05.000"), c.Answer)
	}
	return b.String()
}

// add updates r from one balancer's record.
func (r *together) add(changes []lab.Change) {
	for i, c := range changes {
		if c.Answer == lab.NoAnswer {
			continue
		}
		r.held = max(r.held, strings.Count(c.Answer, " NOLB "))
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
