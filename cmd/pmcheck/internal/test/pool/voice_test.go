package pool_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestOneVoiceAlone restarts masters under agents while one voice says something else than the others: a balancer has
// this master alone, a backend of the pool's own balancer has, and the daemon does not answer its socket. No run behind
// the pool's balancer may fail. A master of which all balancers say that they have it alone does not wait for agents.
func TestOneVoiceAlone(t *testing.T) {
	lab.Real(t)
	agents := mix{quick: 3, slow: 2}
	p := startPool(t, alike(2), 3, agents)
	lonely := endpoint{name: "lonely", ip: "198.18.1.2"}
	spared := endpoint{name: "spared", ip: "198.18.1.3"}
	p.addAddress(spared.ip)
	for _, m := range p.masters {
		m.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "balancers: [198.18.1.0/24]\n", 0o644)
	}
	backends := quickStart(p.installPmcheck())
	_, own, _ := strings.Cut(backends, "\nbackend puppet\n")
	m1, m2 := p.masters[0], p.masters[1]
	second := fmt.Sprintf("    server %s %s\n", m2.Host.Name, m2.Address())
	alone := strings.Replace(own, second, "", 1)

	// The first master is the only CA, too.
	first := p.startBalancer(endpoints()[0], backends+"\nbackend ca\n"+alone)
	p.balancers = []*balancer{first}
	other := p.startBalancer(lonely, "backend puppet\n"+alone)
	backup := p.startBalancer(spared, "backend puppet\n"+alone+strings.TrimSuffix(second, "\n")+" backup\n")
	p.waitForUp()
	load := p.start(agents)
	load.waitForRuns(t, 3, time.Time{})

	t.Run("another balancer has this master alone", func(t *testing.T) {
		p := p.with(t)
		p.waitForCatalog(m1)
		used := lab.StartRecord(t, 20*time.Millisecond, first.used)
		records := []*lab.Record{p.recordFirst(other), p.recordFirst(backup)}
		port := lab.StartRecord(t, 20*time.Millisecond, func() string { return listening(m1) })
		began := time.Now()
		lab.Must(t, p.sh(m1, "systemctl restart puppetserver"))
		closed := port.Stop().WaitOne([]string{"closed"}, began, 0)
		for _, r := range records {
			told := r.Stop().WaitOne([]string{"NOLB"}, began, 0)
			t.Logf("measured: NOLB %s after the restart was typed, the port closed after %s",
				tenths(told.At.Sub(began)), tenths(closed.At.Sub(began)))
			if told.At.After(closed.At) {
				t.Error("the port closed before the balancer had another server")
			}
		}
		p.waitForUp()
		p.assertAlwaysUsed(used)
		p.assertSaid(m1, "does not wait for balancer lonely")
	})

	t.Run("the daemon does not answer its socket", func(t *testing.T) {
		p := p.with(t)
		lab.Must(t, p.sh(m2, "mv /run/pmcheck/pmcheck.sock /run/pmcheck/away"))
		out, err := m2.Host.Run("sh", "-c", "pmcheck drain 2>&1; echo status $?")
		lab.Must(t, err)
		for _, want := range []string{"the daemon runs, and does not answer", "hint: systemctl restart pmcheck", "status 7"} {
			if !strings.Contains(out, want) {
				t.Errorf("pmcheck drain prints no %q:\n%s", want, out)
			}
		}
		used := lab.StartRecord(t, 20*time.Millisecond, first.used)
		lab.Must(t, p.sh(m2, "timeout 100 systemctl stop puppetserver"))
		p.assertAlwaysUsed(used)
		if out := first.Status("puppet", m2.Host.Name); out != "NOLB" {
			t.Errorf("after the stop %s is %s, want NOLB: the daemon answers by the hold", m2.Host.Name, out)
		}
	})

	load.end()
	all := row{runs: load.runs}
	all.report(t)
	if n := len(all.failed()); n > 0 {
		t.Errorf("%d of %d runs failed", n, len(load.runs))
	}
	t.Logf("measured: %d runs, %d failed", len(load.runs), len(all.failed()))

	t.Run("every balancer has this master alone", func(t *testing.T) {
		p := p.with(t)
		other.Stop()
		backup.Stop()
		first.Stop()
		m1.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "", 0o644)
		m1.Host.MustRun("systemctl", "reload", "pmcheck")
		solo := p.startBalancer(endpoint{name: "solo", ip: endpoints()[0].ip}, "backend puppet\n"+alone)
		// As a monitoring system does, whose checks are minutes apart.
		check := func(path string) string {
			out, _ := p.net.Command("curl", "-s", "http://"+m1.Host.Address+":9200"+path).Output()
			return string(out)
		}
		check("/")
		lab.StartRecord(t, time.Second, func() string { return check("/?drain=200&maint=200") })
		solo.WaitStatus("puppet", m1.Host.Name, "UP", 20*time.Second)
		site := lab.NewSite(t, lab.SiteOptions{Puppet: m1})
		site.WaitStatus(2*time.Minute, func(status lab.Status) error {
			for _, b := range status.Balancers {
				if b.View != nil && (b.Node != "solo" || b.View.Steps != 0) {
					return fmt.Errorf("it knows of these balancers: %+v", status.Balancers)
				}
			}
			return nil
		})
		port := lab.StartRecord(t, 10*time.Millisecond, func() string { return listening(m1) })
		began := time.Now()
		lab.Must(t, p.sh(m1, "systemctl --no-block restart puppetserver"))
		closed := port.WaitOne([]string{"closed"}, began, time.Minute)
		took := lab.Between(began, closed.At)
		t.Logf("measured: the port closed after %s", tenths(took))
		// The daemon has listened for 15 s, and HAProxy is told before the port closes.
		if most := 25 * time.Second; took > most {
			t.Errorf("the port closed after %s, want %s at most", tenths(took), most)
		}
		p.assertSaid(m1, "does not wait for balancer solo")
	})
}

// startBalancer starts a HAProxy at an address of its own, and sends agents that ask there to the backend puppet.
func (p *pool) startBalancer(e endpoint, backends string) *balancer {
	p.t.Helper()
	return &balancer{
		endpoint: e,
		HAProxy:  p.net.StartHAProxy(p.t, fmt.Sprintf(balancerConfig, e.name, e.ip, e.address(), backends)),
	}
}

// recordFirst records how a balancer sees the first master.
func (p *pool) recordFirst(b *balancer) *lab.Record {
	p.t.Helper()
	return lab.StartRecord(p.t, 20*time.Millisecond, func() string { return b.Status("puppet", p.masters[0].Host.Name) })
}

// waitForCatalog waits until a master has just begun to compile a catalog of 20 s.
func (p *pool) waitForCatalog(m *lab.PuppetMaster) {
	p.t.Helper()
	site := lab.NewSite(p.t, lab.SiteOptions{Puppet: m})
	site.WaitStatus(3*time.Minute, func(status lab.Status) error {
		count, _ := status.Services[0].Pool()
		if count == nil {
			return errors.New("the JRubies are not counted")
		}
		for _, loan := range count.Borrowed {
			if loan.Seconds > 2 && loan.Seconds < 10 {
				return nil
			}
		}
		return fmt.Errorf("at work: %+v", count.Borrowed)
	})
}

// used names the servers that a balancer uses for agents.
func (b *balancer) used() string {
	stats, err := b.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	var up []string
	for _, s := range stats {
		if s.Backend == "puppet" && strings.HasPrefix(s.Status, "UP") {
			up = append(up, s.Server)
		}
	}
	return strings.Join(up, " ")
}

// assertAlwaysUsed asserts that a balancer always had a server.
func (p *pool) assertAlwaysUsed(used *lab.Record) {
	p.t.Helper()
	if changes := used.Stop().Changes(); used.Count("") > 0 {
		p.t.Errorf("it had no server:\n%s", clocked(changes))
	}
}

// assertSaid asserts that the guard of a master has said something in the last minutes.
func (p *pool) assertSaid(m *lab.PuppetMaster, want string) {
	p.t.Helper()
	journal := m.Host.Journal("pmcheck-guard@puppetserver", "pmcheck")
	if !strings.Contains(journal, want) {
		p.t.Errorf("the guard did not say %q:\n%s", want, journal)
	}
}

// listening reports whether a process of the master listens on Puppet's port, without a connection to it.
func listening(m *lab.PuppetMaster) string {
	for _, file := range []string{"tcp", "tcp6"} {
		for line := range strings.Lines(readProc(fmt.Sprintf("/proc/%d/net/%s", m.Host.Pid(), file))) {
			fields := strings.Fields(line)
			if len(fields) > 3 && strings.HasSuffix(fields[1], ":1FCC") && fields[3] == "0A" { // 8140, LISTEN
				return "open"
			}
		}
	}
	return "closed"
}

func readProc(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return lab.NoAnswer
	}
	return string(data)
}
