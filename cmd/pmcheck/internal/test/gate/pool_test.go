//go:build linux

package gate_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	sslDir = "/var/lib/puppet/ssl"
	// The catalog names the master that compiled it.
	sitePP = "notify { \"applied by ${server_facts['servername']}\": }\n"
	// both resolves to both masters.
	both = "both.lab.example"
)

// long selects the long form, which also runs agents of later releases and restarts the
// masters.
var long = os.Getenv("PMCHECK_LONG") != ""

// A pool is two masters without a balancer, and hosts with agents.
type pool struct {
	t       *testing.T
	masters []*lab.PuppetMaster
	hosts   []*lab.Host // with agents of different versions; the first one also runs the name server
}

// startPool starts the masters with pmcheck and a gate each, and the name server.
func startPool(t *testing.T) *pool {
	t.Helper()
	lab.Real(t)
	lab.Need(t, "gdnsd", "gdnsd")
	lab.Need(t, "nft", "nftables")
	n := lab.StartNetwork(t)
	p := &pool{t: t}
	opts := lab.PuppetMasterOptions{AltNames: []string{both}, MaxActiveInstances: 2}
	for _, name := range []string{"m1", "m2"} {
		m := n.Boot(name).StartPuppetMaster(opts)
		m.SetSitePP(sitePP)
		m.Host.WriteFile("/etc/puppet/code/environments/production/environment.conf", "modulepath = modules\n", 0o644)
		p.masters = append(p.masters, m)
		if opts.CA == nil {
			m.WaitReady(10 * time.Minute)
			opts.CA = m
		}
	}
	p.masters[1].WaitReady(10 * time.Minute)
	p.hosts = append(p.hosts, n.Boot("agents"))
	if long {
		p.bootReleases(n)
	}
	p.serveNames()
	deb := lab.DEB(t, "1.0.0")
	for _, m := range p.masters {
		m.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", fmt.Sprintf("fleet: [%s, %s]\n",
			p.masters[0].Host.Address, p.masters[1].Host.Address), 0o644)
		m.Host.Copy(deb, "/root/pmcheck.deb", 0o644)
		m.Host.MustRun("dpkg", "--install", "--force-confold", "/root/pmcheck.deb")
		m.Host.MustRun("systemctl", "enable", "--now", "pmcheck-gate.service")
		m.Host.MustRun("pmcheck", "wait", "--for", "ready")
	}
	return p
}

// bootReleases boots hosts with the agents of later releases of Debian: Puppet 8 and
// OpenVox 9.
func (p *pool) bootReleases(n *lab.Network) {
	p.t.Helper()
	for _, suite := range []string{"trixie", "forky"} {
		p.hosts = append(p.hosts, n.BootRelease(suite, suite))
	}
	for _, h := range p.hosts {
		p.t.Logf("the agents on %s are of version %s", h.Name, h.MustRun("puppet", "--version"))
	}
}

// serveNames starts gdnsd, the only name server of the hosts with agents.
func (p *pool) serveNames() {
	p.t.Helper()
	zone := "$TTL 5\n@ SOA ns hostmaster 1 1h 5m 1w 5\n@ NS ns\nns A 127.0.0.1\n"
	for _, m := range p.masters {
		zone += fmt.Sprintf("%s A %s\nboth A %[2]s\n_x-puppet._tcp SRV 0 1 8140 %[1]s\n", m.Host.Name, m.Host.Address)
	}
	server := p.hosts[0]
	server.WriteFile("/etc/gdnsd/config", "options => { listen => [ "+server.Address+" ] }\n", 0o644)
	server.WriteFile("/etc/gdnsd/zones/lab.example", zone, 0o644)
	server.Start("gdnsd", "start")
	for _, h := range p.hosts {
		// Without this setting OpenVox 9.0.0-rc1 passes over each server of a server_list. The
		// name has no address, so an agent that used it would fail.
		h.WriteFile("/etc/puppet/puppet.conf", "[main]\nserver = nobody.lab.example\n", 0o644)
		h.WriteFile("/etc/resolv.conf", "nameserver "+server.Address+"\n", 0o644)
		lab.WaitFor(p.t, 30*time.Second, 100*time.Millisecond, func() error {
			_, err := h.Run("getent", "hosts", both)
			return err
		})
	}
}

// An agent is a real one, which finds its master in one of the ways that agents lists.
type agent struct {
	name string
	find []string // the flags
	host *lab.Host
}

// agents returns that many agents of each kind, spread over the hosts.
func (p *pool) agents(each int) (list []agent) {
	for _, kind := range []struct {
		name string
		find []string
	}{
		{"list", []string{"--server_list=m1.lab.example:8140,m2.lab.example:8140"}},
		// The server_list in reverse order.
		{"backup", []string{"--server_list=m2.lab.example:8140,m1.lab.example:8140"}},
		{"srv", []string{"--use_srv_records", "--srv_domain=lab.example"}},
		{"addresses", []string{"--server=" + both}},
	} {
		for i := range each {
			host := p.hosts[len(list)%len(p.hosts)]
			a := agent{fmt.Sprintf("%s%d.lab.example", kind.name, i), kind.find, host}
			p.masters[0].IssueCert(host, a.name, nil)
			list = append(list, a)
		}
	}
	return list
}

// A run is an agent run that has ended.
type run struct {
	agent        string
	began, ended time.Time
	master       string // that compiled its catalog
	err          error
}

var appliedBy = regexp.MustCompile(`applied by (m[12])\.lab\.example`)

func (a agent) run() run {
	r := run{agent: a.name, began: time.Now()}
	// As packaging/doc/leaving.md says: on a busy machine the facts alone take longer than the 4 s
	// after which an agent makes a new connection.
	args := append([]string{"agent", "--onetime", "--no-daemonize", "--verbose", "--color=false",
		"--http_keepalive_timeout=25s", "--certname=" + a.name, "--ssldir=" + sslDir,
		"--ssl_lockfile=/var/tmp/" + a.name + ".lock", "--vardir=/var/tmp/" + a.name}, a.find...)
	out, err := a.host.Run("puppet", args...)
	r.ended = time.Now()
	if m := appliedBy.FindStringSubmatch(out); m != nil {
		r.master = m[1]
	}
	catalog, report := "Could not retrieve catalog", "Could not send report"
	if err != nil || r.master == "" || strings.Contains(out, catalog) || strings.Contains(out, report) {
		r.err = fmt.Errorf("%v: %s", err, out)
	}
	return r
}

// A load is agents that run again and again.
type load struct {
	stop func()
	wait sync.WaitGroup

	mu   sync.Mutex
	runs []run
}

func start(t *testing.T, agents []agent) *load {
	done := make(chan struct{})
	l := &load{stop: sync.OnceFunc(func() { close(done) })}
	for _, a := range agents {
		l.wait.Go(func() {
			for {
				r := a.run()
				l.mu.Lock()
				l.runs = append(l.runs, r)
				l.mu.Unlock()
				select {
				case <-done:
					return
				case <-time.After(time.Second):
				}
			}
		})
	}
	t.Cleanup(func() { l.end() })
	return l
}

// end stops new runs, waits for the current ones, and returns all runs.
func (l *load) end() []run {
	l.stop()
	l.wait.Wait()
	return l.runs
}

// waitFor waits until n runs that began after a moment have ended.
func (l *load) waitFor(t *testing.T, n int, after time.Time) {
	t.Helper()
	lab.WaitFor(t, 20*time.Minute, 100*time.Millisecond, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		ended := 0
		for _, r := range l.runs {
			if r.began.After(after) {
				ended++
			}
		}
		if ended < n {
			return fmt.Errorf("%d runs, want %d", ended, n)
		}
		return nil
	})
}

// failed prints and counts the runs that failed.
func failed(t *testing.T, runs []run) (n int) {
	t.Helper()
	for _, r := range runs {
		if r.err != nil {
			n++
			t.Logf("%s, begun %s: %v", r.agent, r.began.Format(time.TimeOnly), r.err)
		}
	}
	return n
}

// TestAgentsWithoutABalancer: agents that find their masters themselves go to the other one
// while one is drained, and no run fails. The long form restarts the masters too, with the
// gate and without it.
func TestAgentsWithoutABalancer(t *testing.T) {
	each, runs := 1, 4 // agents of each kind; runs of all agents in each part of the test
	if long {
		each, runs = 2, 25
	}
	p := startPool(t)
	agents := p.agents(each)
	for _, a := range agents { // the first run is longer: it fetches plugins
		if r := a.run(); r.err != nil {
			t.Fatal(r.err)
		}
	}

	l := start(t, agents)
	for host, n := range p.drainEach(l, runs, "--wait", "--timeout=10m") {
		if n.there != 0 || n.returned == 0 {
			t.Errorf("%s: want no run while it is drained, and some afterwards", host)
		}
	}
	if long {
		p.restartEach(l, runs)
	}
	all := l.end()
	n := failed(t, all)
	if n > 0 {
		t.Errorf("%d of %d runs failed", n, len(all))
	}
	t.Logf("with the gate: %d of %d runs failed", n, len(all))
	if long {
		p.repeatWithoutGate(agents, runs)
	}
}

// drained counts the runs on a master.
type drained struct {
	there    int // that began and ended while it was drained
	returned int // that began after it was ready again
}

// drainEach drains one master after the other under load.
func (p *pool) drainEach(l *load, runs int, flags ...string) map[string]drained {
	p.t.Helper()
	all := map[string]drained{}
	for _, m := range p.masters {
		m.Host.MustRun("pmcheck", append([]string{"drain"}, flags...)...)
		began := time.Now()
		l.waitFor(p.t, runs, began)
		lifted := time.Now()
		m.Host.MustRun("pmcheck", "ready", "--wait", "--timeout=10m")
		back := time.Now()
		l.waitFor(p.t, runs, back)
		var n drained
		l.mu.Lock()
		for _, r := range l.runs {
			switch {
			case r.master != m.Host.Name:
			case r.began.After(back):
				n.returned++
			case r.began.After(began) && r.ended.Before(lifted):
				n.there++
			}
		}
		l.mu.Unlock()
		p.t.Logf("%s: %d runs there while it was drained, %d after it was ready again", m.Host.Name, n.there, n.returned)
		all[m.Host.Name] = n
	}
	return all
}

// restartEach restarts one master after the other under load.
func (p *pool) restartEach(l *load, runs int) {
	p.t.Helper()
	for _, m := range p.masters {
		began := time.Now()
		m.Host.MustRun("systemctl", "restart", "puppetserver")
		p.t.Logf("%s: restarted in %v", m.Host.Name, time.Since(began).Round(time.Second))
		m.Host.MustRun("pmcheck", "wait", "--for", "ready")
		l.waitFor(p.t, runs, began)
	}
}

// repeatWithoutGate drains and restarts the masters again, without the gate.
func (p *pool) repeatWithoutGate(agents []agent, runs int) {
	for _, m := range p.masters {
		m.Host.MustRun("systemctl", "disable", "--now", "pmcheck-gate.service")
	}
	l := start(p.t, agents)
	p.drainEach(l, runs) // not --wait, for agents keep coming
	p.restartEach(l, runs)
	all := l.end()
	p.t.Logf("without the gate: %d of %d runs failed", failed(p.t, all), len(all))
}
