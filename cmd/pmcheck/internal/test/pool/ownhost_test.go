package pool_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestBalancerOnTheMastersHost: on each master's own host HAProxy has Puppet's port, and Puppet Server has another.
// pmcheck has no configuration. A master that does not serve is out as soon as it is elsewhere, although the pool
// answers at the address that pmcheck assumes; and hosts that boot together come up, although no pool answers there.
func TestBalancerOnTheMastersHost(t *testing.T) {
	lab.Real(t)
	agents := mix{quick: 3}
	p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{""}, port: "8141"}, 2, agents)
	p.balanceOnMasters(quickStart(p.installPmcheck()))
	for _, m := range p.masters {
		p.waitForStatus(m, `{address:`) // the line to set
		out, err := m.Host.Run("pmcheck", "check")
		if err != nil || !strings.Contains(out, "https://localhost:8141/") || !strings.Contains(out, "{address:") {
			t.Errorf("pmcheck check: %v\n%s", err, out)
		}
	}

	if lab.Long() {
		t.Run("restarts", func(t *testing.T) {
			p.with(t).measure(scenario{"`systemctl restart puppetserver`, one after the other", agents, restartEach, false},
				form{runs: 25})
		})
	}
	for _, f := range []struct {
		name, inject, mend string
		quick              bool // part of the short form
	}{
		{"stop", "systemctl stop puppetserver", "systemctl start puppetserver", true},
		{"kill -STOP", "systemctl kill -s STOP puppetserver", "systemctl kill -s CONT puppetserver", true},
		{"kill -STOP, then pmcheck restarts", "systemctl kill -s STOP puppetserver; systemctl restart pmcheck",
			"systemctl kill -s CONT puppetserver", true},
		{"kill", "systemctl kill -s KILL puppetserver", "systemctl start puppetserver", false},
		{"disabled, then pmcheck restarts", "systemctl disable --now puppetserver; systemctl restart pmcheck",
			"systemctl enable --now puppetserver", false},
	} {
		if f.quick || lab.Long() {
			t.Run(f.name, func(t *testing.T) { p.with(t).outOnce(f.inject, f.mend) })
		}
	}
	t.Run("drain", func(t *testing.T) { p.with(t).drainBesideOthersAgents() })
	t.Run("both boot", func(t *testing.T) { p.with(t).bootTogether() })
}

// drainBesideOthersAgents drains the first master while agents come to the balancer on its host, which sends them to
// the other master: no agent is at work on it.
func (p *pool) drainBesideOthersAgents() {
	p.t.Helper()
	m := p.masters[0]
	ctx, stop := context.WithCancel(p.t.Context())
	var agents sync.WaitGroup
	came := 0
	agents.Go(func() {
		every := time.NewTicker(sockets.Reuse / 3) // one of them is always in use
		defer every.Stop()
		for ctx.Err() == nil {
			conn, err := p.net.DialContext(ctx, "tcp", m.Host.Address+":8140")
			if err == nil {
				came++
				defer conn.Close()
			}
			<-every.C
		}
	})
	p.t.Cleanup(func() { stop(); agents.Wait() })

	lab.Must(p.t, p.sh(m, "pmcheck drain --wait --timeout 3m")) // the daemon may be young
	stop()
	agents.Wait()
	if came == 0 {
		p.t.Error("no agent came")
	}
	lab.Must(p.t, p.sh(m, "pmcheck ready --wait"))
}

// balanceOnMasters starts a balancer on the host of each master, which agents know by the name of a balancer.
func (p *pool) balanceOnMasters(backend string) {
	p.t.Helper()
	for i, e := range endpoints() {
		m := p.masters[i]
		for _, host := range p.workshops {
			host.MustRun("sed", "-i", "s/^"+e.ip+" /"+m.Host.Address+" /", "/etc/hosts")
		}
		e.ip = m.Host.Address
		config := fmt.Sprintf("global\n    node %s\n%s\nfrontend agents\n    bind :8140\n    default_backend puppet\n",
			e.name, strings.ReplaceAll(backend, m.Address(), "127.0.0.1:8141"))
		p.balancers = append(p.balancers, &balancer{endpoint: e, HAProxy: m.Host.EnableHAProxy(config)})
	}
	p.waitForUp()
}

// watch records what a master's pmcheck says of it, holds aside, and whether Puppet Server's port is open: "200 open".
func (p *pool) watch(m *lab.PuppetMaster) *lab.Record {
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: p.net.DialContext},
		Timeout:   3 * time.Second,
	}
	request, err := http.NewRequest("GET", "http://"+m.Host.Address+":9200/?drain=200&maint=200", nil)
	lab.Must(p.t, err)
	request.Header.Set("User-Agent", fleet.UserAgent) // a balancer would be waited for
	return lab.StartRecord(p.t, 100*time.Millisecond, func() string {
		says := "no answer"
		if resp, err := client.Do(request); err == nil {
			resp.Body.Close()
			says = fmt.Sprint(resp.StatusCode)
		}
		open := m.Host.Inside(func() error {
			_, err := sockets.ListenerAt("localhost:8141")
			return err
		})
		if open != nil {
			return says + " closed"
		}
		return says + " open"
	})
}

const noticed = 8 * time.Second // an interval of the probe and its timeout, on a busy machine

// outOnce does something to the first master that has it not serve, and undoes it. From soon after the one until the
// other, pmcheck must answer 503.
func (p *pool) outOnce(inject, mend string) {
	p.t.Helper()
	m := p.masters[0]
	record := p.watch(m)
	began := time.Now()
	lab.Must(p.t, p.sh(m, inject))
	done := time.Now()
	time.Sleep(time.Until(done.Add(noticed + 4*time.Second))) // a wrong answer comes and goes

	changes := record.Changes()
	out := time.Time{}
	for _, c := range changes {
		isOut := !strings.HasPrefix(c.Answer, "200")
		if isOut && out.IsZero() && c.At.After(began) {
			out = c.At
		}
		if !isOut && c.At.After(done.Add(noticed)) || !isOut && !out.IsZero() && c.At.After(done) {
			p.t.Errorf("200 again: %s", record)
		}
	}
	if out.IsZero() || out.After(done.Add(noticed)) {
		p.t.Errorf("not out within %s: %s", noticed, record)
	}
	p.t.Logf("measured: 503 after %s: %s", tenths(out.Sub(began)), record)

	lab.Must(p.t, p.sh(m, mend))
	lab.WaitFor(p.t, 5*time.Minute, 100*time.Millisecond, func() error {
		changes := record.Changes()
		if last := changes[len(changes)-1].Answer; last != "200 open" {
			return fmt.Errorf("%s is mended: %s", inject, record)
		}
		return nil
	})
	p.serves(record)
	lab.Must(p.t, p.sh(m, "pmcheck wait --for ready"))
}

// serves fails the test if pmcheck has answered 200 for longer than it takes to notice that the port is closed.
func (p *pool) serves(record *lab.Record) {
	p.t.Helper()
	const brief = 2500 * time.Millisecond
	changes := record.Stop().Changes()
	for i, c := range changes {
		until := time.Now()
		if i+1 < len(changes) {
			until = changes[i+1].At
		}
		if c.Answer == "200 closed" && until.Sub(c.At) > brief {
			p.t.Errorf("200 for %s while the port was closed: %s", tenths(until.Sub(c.At)), record)
		}
	}
}

// bootTogether has the power of both hosts fail. A pool whose balancers wait for pmcheck must not wait for itself.
func (p *pool) bootTogether() {
	p.t.Helper()
	var records []*lab.Record
	for _, m := range p.masters {
		records = append(records, p.watch(m))
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, m := range p.masters {
		all.Go(m.Host.PowerCycle)
	}
	all.Wait()
	for i, record := range records {
		lab.WaitFor(p.t, 10*time.Minute, 100*time.Millisecond, func() error {
			changes := record.Changes()
			if last := changes[len(changes)-1].Answer; last != "200 open" {
				return fmt.Errorf("%s has booted: %s", p.masters[i].Host.Name, record)
			}
			return nil
		})
		p.serves(record)
		p.t.Logf("measured: %s: %s", p.masters[i].Host.Name, record)
	}
	p.waitForUp()
	p.t.Logf("measured: both serve again %s after the power failed", tenths(time.Since(began)))
}
