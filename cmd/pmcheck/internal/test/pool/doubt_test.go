package pool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A doubt is something that pmcheck cannot find out, match or agree on by itself, while Puppet Server serves every
// agent. It comes to all masters at once, as a file does that they share.
type doubt struct {
	kind, name string
	apply      string // what a shell does on each master
	undo       string
	status     string // what "pmcheck status" says then
}

func doubts() []doubt {
	return []doubt{}
}

// TestDoubtsTakeNoMasterOut brings each doubt to both masters of a pool under agents: no run fails, and balancers have
// both servers. While it lasts, a master that is stopped is out at once.
func TestDoubtsTakeNoMasterOut(t *testing.T) {
	lab.Real(t)
	agents := mix{quick: 4}
	p := startPool(t, alike(2), 3, agents)
	p.balance(quickStart(p.installPmcheck()))
	table := "| Kind | Doubt | Runs | Failed | Fewest UP | Stopped meanwhile: 503 after |\n" +
		"| --- | --- | ---: | ---: | ---: | ---: |\n"
	for _, d := range doubts() {
		t.Run(d.kind+": "+d.name, func(t *testing.T) {
			table += p.with(t).doubts(d, agents)
		})
	}
	lab.Publish(t, "doubts", table)
	t.Logf("measured:\n%s", table)
}

// doubts returns the row of a doubt.
func (p *pool) doubts(d doubt, agents mix) string {
	defer func() { lab.Must(p.t, p.each(d.undo)) }()
	r := p.measure(scenario{
		name: d.name,
		mix:  agents,
		operate: func(p *pool) error {
			if err := p.each(d.apply); err != nil {
				return err
			}
			for _, m := range p.masters {
				p.waitForStatus(m, d.status)
			}
			return nil
		},
	}, form{runs: 16})
	if r.fewest < len(p.masters) {
		p.t.Errorf("only %d servers were UP", r.fewest)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s |\n", d.kind, d.name, len(r.runs), len(r.failed()), r.fewest,
		tenths(p.stopped()))
}

// waitForStatus waits until a master says so.
func (p *pool) waitForStatus(m *lab.PuppetMaster, want string) {
	p.t.Helper()
	lab.WaitFor(p.t, time.Minute, 500*time.Millisecond, func() error {
		out, _ := m.Host.Run("pmcheck", "status") // its exit status is that of the verdict
		if !strings.Contains(string(out), want) {
			return fmt.Errorf("%s does not say %q:\n%s", m.Host.Name, want, out)
		}
		return nil
	})
}

// stopped stops the process of the first master, and returns how long it was answered 200. Then it goes on.
func (p *pool) stopped() time.Duration {
	p.t.Helper()
	m := p.masters[0]
	ask := func() string {
		out, _ := m.Host.Run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "localhost:9200/")
		return string(out)
	}
	m.Host.MustRun("systemctl", "kill", "-s", "STOP", "puppetserver")
	began := time.Now()
	lab.WaitFor(p.t, 30*time.Second, 100*time.Millisecond, func() error {
		if code := ask(); code != "503" {
			return fmt.Errorf("a master that is stopped is answered %s", code)
		}
		return nil
	})
	took := time.Since(began)
	m.Host.MustRun("systemctl", "kill", "-s", "CONT", "puppetserver")
	lab.WaitFor(p.t, time.Minute, 100*time.Millisecond, func() error {
		if code := ask(); code != "200" {
			return fmt.Errorf("a master that goes on is answered %s", code)
		}
		return nil
	})
	return took
}
