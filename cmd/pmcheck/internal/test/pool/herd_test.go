package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// queueLimit has Puppet Server tell agents to come back when 12 requests wait for each JRuby. HOCON merges it with
// the other files of conf.d.
const queueLimit = "jruby-puppet: { max-queued-requests: 36, max-retry-delay: 60 }\n"

// A herd is agents that all start at once, one run each.
type herd struct {
	agents   int // stand-ins, some of which share a certname
	real     int // as many more run puppet agent
	catalog  int // seconds
	queue    bool
	bare     bool // no maxconn in HAProxy
	restart  bool // of a master meanwhile
	mayFail  bool
	runs     []run
	together // of the balancer's servers
}

func herds() []herd {
	if !lab.Long() {
		return []herd{{agents: 120, real: 2, catalog: 1, queue: true, restart: true}}
	}
	list := []herd{
		{agents: 90, real: 10, catalog: 5, restart: true},
		{agents: 590, real: 10, catalog: 1, bare: true, mayFail: true},
	}
	for _, queue := range []bool{false, true} {
		for _, catalog := range []int{1, 5} {
			list = append(list, herd{agents: 590, real: 10, catalog: catalog, queue: queue, mayFail: !queue})
		}
	}
	return list
}

// TestHerd has agents with the limits of real ones start at once, behind one balancer with the backend of README.md.
func TestHerd(t *testing.T) {
	lab.Real(t)
	// Of Puppet 8: before 7.26 and 8.2 an agent fails when it is told Retry-After (PUP-11853).
	p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{"trixie"}}, 3, mix{quick: 20})
	backend := p.installPmcheck()
	p.balance(backend)
	for i := len(p.puppets[quick]); i < 10; i++ {
		name := fmt.Sprintf("herd%d.lab.example", i)
		p.masters[0].IssueCert(p.workshops[0], name, nil)
		p.puppets[quick] = append(p.puppets[quick], newPuppet(name, p.workshops[0]))
	}
	table := "| Agents (real) | Catalogs | `maxconn` | `max-queued-requests` | Failed | Median | Slowest | Fewest UP " +
		"| No server for |\n" +
		"| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
	limited := false
	for _, h := range herds() {
		t.Run(h.name(), func(t *testing.T) {
			p := p.with(t)
			if h.queue != limited {
				p.limitQueues()
				limited = h.queue
			}
			if h.bare {
				p.balance(strings.Replace(backend, " maxconn 100", "", 1))
				defer p.balance(backend)
			}
			h.come(p)
			table += h.String() + "\n"
			t.Logf("measured: %s", h)
			if failed := (row{runs: h.runs}).failed(); len(failed) > 0 && !h.mayFail {
				t.Errorf("%d of %d runs failed", len(failed), len(h.runs))
			}
			if h.empty > 0 {
				t.Errorf("HAProxy had no server for %v", h.empty)
			}
		})
	}
	lab.Publish(t, "herd", table)
	t.Logf("measured:\n%s", table)
	t.Run("fail open", func(t *testing.T) { p.with(t).failOpen() })
}

func (p *pool) limitQueues() {
	p.t.Helper()
	for _, m := range p.masters {
		m.Host.WriteFile("/etc/puppet/puppetserver/conf.d/queue.conf", queueLimit, 0o644)
	}
	lab.Must(p.t, restartEach(p))
	p.waitForUp()
}

// come runs the agents and returns when the last one has ended.
func (h *herd) come(p *pool) {
	p.t.Helper()
	p.waitForUp()
	for _, m := range p.masters {
		m.SetSitePP(fmt.Sprintf("$slept = generate('/bin/sleep', '%d')\n", h.catalog))
	}
	var agents []agent
	for i := range h.agents {
		agents = append(agents, p.standIns[quick][i%len(p.standIns[quick])])
	}
	agents = append(agents, p.puppets[quick][:h.real]...)
	lb := p.balancers[0]
	h.fewest = len(p.masters)
	record := lab.StartRecord(p.t, 100*time.Millisecond, lb.servers)
	l := &load{}
	for i, a := range agents {
		l.wait.Go(func() {
			r := run{real: i >= h.agents, began: time.Now()}
			r.err = a.run(lb.endpoint)
			r.ended = time.Now()
			l.note(r)
		})
	}
	began := time.Now()
	if h.restart {
		if err := p.sh(p.masters[1], "systemctl restart puppetserver"); err != nil {
			p.t.Error(err)
		}
		p.waitForUp()
	}
	l.wait.Wait()
	h.runs, h.took = l.runs, time.Since(began)
	h.add(record.Stop().Changes())
	p.t.Logf("servers of %s:\n%s", lb.name, clocked(record.Changes()))
	row{runs: h.runs, began: began}.report(p.t)
}

func (h herd) name() string {
	name := fmt.Sprintf("%d agents, catalogs of %d s", h.agents+h.real, h.catalog)
	if h.queue {
		name += ", max-queued-requests"
	}
	if h.restart {
		name += ", a master restarted"
	}
	return name
}

func (h herd) String() string {
	agents, maxconn, queue := fmt.Sprintf("%d (%d)", len(h.runs), h.real), "100", "no"
	if h.restart {
		agents += ", a master is restarted"
	}
	if h.queue {
		queue = "36"
	}
	if h.bare {
		maxconn = "no"
	}
	var times []time.Duration
	for _, r := range h.runs {
		times = append(times, r.ended.Sub(r.began))
	}
	slices.Sort(times)
	return fmt.Sprintf("| %s | %d s | %s | %s | %d | %s | %s | %d | %s |", agents, h.catalog, maxconn, queue,
		len(row{runs: h.runs}.failed()), tenths(times[len(times)/2]), tenths(times[len(times)-1]), h.fewest, tenths(h.empty))
}

// failOpen has the disks of both masters fill up under load, behind examples/haproxy/fail-open.cfg, and takes one of
// them out meanwhile.
func (p *pool) failOpen() {
	p.t.Helper()
	for _, m := range p.masters {
		m.SetSitePP(sitePP)
		m.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "disk: {paths: [/srv/full]}\n", 0o644)
		m.Host.MustRun("sh", "-ec", "mkdir /srv/full; mount -t tmpfs -o size=1m full /srv/full; systemctl restart pmcheck")
	}
	_, backends, _ := strings.Cut(lab.ReadFile(p.t, "examples/haproxy/fail-open.cfg"), "\nbackend ")
	for i, m := range p.masters {
		backends = strings.ReplaceAll(backends, fmt.Sprintf("192.0.2.1%d:8140", i+1), m.Address())
	}
	p.balance("backend " + backends)
	r := p.measure(scenario{
		name:    "disks full on both masters, then `maint` on one",
		mix:     mix{quick: 6},
		operate: fillDisks,
	}, form{runs: 60})
	lab.Publish(p.t, "fail-open", table([]row{r}))
}

// fillDisks returns when the regular servers are UP again.
func fillDisks(p *pool) error {
	for _, m := range p.masters {
		m.Host.MustRun("sh", "-c", "dd if=/dev/zero of=/srv/full/file; test -s /srv/full/file")
	}
	wait := func(server, status string) {
		p.t.Helper()
		for _, b := range p.balancers {
			b.WaitStatus("puppet", server, status, time.Minute)
		}
	}
	wait("puppet1", "DOWN")
	wait("puppet2", "DOWN")
	time.Sleep(10 * time.Second) // agents come meanwhile
	if err := p.sh(p.masters[0], "pmcheck maint --force"); err != nil {
		return err
	}
	wait("puppet1-open", "DOWN")
	sent := func() (n int) {
		for _, b := range p.balancers {
			n += b.Stat("puppet", "puppet1-open").SessionsTotal
		}
		return n
	}
	before := sent()
	if before == 0 {
		p.t.Error("no agent was sent to an unhealthy master that is not held")
	}
	time.Sleep(10 * time.Second)
	if after := sent(); after != before {
		p.t.Errorf("%d agents were sent to a master in maint", after-before)
	}
	if err := p.sh(p.masters[0], "pmcheck ready"); err != nil {
		return err
	}
	for _, m := range p.masters {
		m.Host.MustRun("rm", "/srv/full/file")
	}
	wait("puppet1", "UP")
	wait("puppet2", "UP")
	return nil
}
