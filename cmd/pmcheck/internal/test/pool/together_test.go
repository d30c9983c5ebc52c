//go:build linux

package pool_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestTogether takes masters out within seconds of each other, as an operator does who knows no better: no
// run may fail, and no balancer may have two servers missing. The short form restarts three masters. The long
// one does to two masters, by HAProxy 2.6 and 3.0, what operators type, with the backend of README.md and
// with a drain that is answered 503.
func TestTogether(t *testing.T) {
	lab.Real(t)
	agents, table := mix{slow: 4}, togetherHeader
	all := func(t *testing.T, drain string, change *strings.Replacer) {
		p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{""}, balancer: "trixie"}, 3, agents)
		p.balance(change.Replace(quickStart(p.installPmcheck())))
		table += p.leaveTogether(drain, exits(), []time.Duration{0, 6 * time.Second}, agents)
	}
	if os.Getenv("PMCHECK_LONG") != "" {
		t.Run("404", func(t *testing.T) { all(t, "404", strings.NewReplacer()) })
		t.Run("503", func(t *testing.T) {
			all(t, "503", strings.NewReplacer("/?drain=404", "/", "    http-check disable-on-404\n", ""))
		})
		t.Run("budget", func(t *testing.T) { table += leaveWithBudget(t) })
	} else {
		p := startPool(t, alike(3), 3, agents)
		p.balance(quickStart(p.installPmcheck()))
		table += p.leaveTogether("404", exits()[:1], []time.Duration{4 * time.Second}, agents)
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
func (p *pool) leaveTogether(drain string, ways []exit, apart []time.Duration, agents mix) (rows string) {
	for _, way := range ways {
		for _, d := range apart {
			name := fmt.Sprintf("%s, %.0f s apart, a drain is answered %s", way.name, d.Seconds(), drain)
			p.t.Run(name, func(t *testing.T) {
				sub := p.with(t)
				r := sub.together(p.masters, d, agents, func(m *lab.PuppetMaster) error {
					if way.line == "" {
						return sub.reboot(m)
					}
					return sub.sh(m, way.line)
				})
				row := fmt.Sprintf("| %s | %s | %s |\n", way.name, drain, r)
				rows += row
				t.Logf("measured: %s", row)
				if r.failed > 0 {
					t.Errorf("%d of %d runs failed", r.failed, r.runs)
				}
				if r.fewest < r.masters-1 {
					t.Errorf("only %d servers were UP", r.fewest)
				}
			})
		}
	}
	return rows
}

// together holds the results of simultaneous restarts.
type together struct {
	masters      int
	apart        time.Duration
	took         time.Duration
	runs, failed int
	fewest       int           // servers that were UP, of any balancer
	empty        time.Duration // the longest time in which a balancer had none
}

// together calls do for each master, each apart after the previous one, and returns when
// every one is UP again.
func (p *pool) together(masters []*lab.PuppetMaster, apart time.Duration, m mix,
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
	l.end()
	for _, one := range l.runs {
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

func (r together) String() string {
	return fmt.Sprintf("%d, %.0f s apart | %d | %d | %d | %s | %.0f s",
		r.masters, r.apart.Seconds(), r.runs, r.failed, r.fewest, tenths(r.empty), r.took.Seconds())
}

const togetherHeader = "| Typed on each master | Drain | Masters | Runs | Failed | Fewest UP | No server for " +
	"| It took |\n" +
	"| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
