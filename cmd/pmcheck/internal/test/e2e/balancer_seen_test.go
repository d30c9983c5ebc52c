package e2e_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// seenConfig has the backends of README.md for two masters, with addresses and names of their own. NODE, SOURCE, INTER
// and the masters' addresses are replaced.
const seenConfig = `
global
    node NODE
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
    source SOURCE
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server inter INTER fall 3 rise 2 weight 100
backend 0-turn
    no log
    default-server inter TURN
    server m1 127.0.0.1:8140 check addr FIRST port 9200
    server m2 127.0.0.1:8140 check addr SECOND port 9200
backend puppet
    server m1 127.0.0.1:8140 check addr FIRST port 9200
    server m2 127.0.0.1:8140 check addr SECOND port 9200
`

// A seenPool is two masters at addresses of their own, and the HAProxies that ask them.
type seenPool struct {
	t       *testing.T
	masters []*lab.Site
	proxies []*lab.HAProxy
	replace []string // pairs, for seenConfig
}

// startSeenPool starts two masters whose daemons listen in an IPv6 /64, which this test process has for itself.
func startSeenPool(t *testing.T, network string) *seenPool {
	t.Helper()
	p := &seenPool{t: t}
	for i, what := range []string{"FIRST", "SECOND"} {
		address := p.addAddress(network, 0xa1+i)
		s := lab.NewSite(t, lab.SiteOptions{
			Listen: netip.AddrPortFrom(address, 9200).String(),
			YAML:   "status_allow: ['" + network + "::/64']\n",
		})
		s.Start()
		p.masters = append(p.masters, s)
		p.replace = append(p.replace, what, "["+address.String()+"]")
	}
	return p
}

// addAddress gives the loopback device the nth address of a network.
func (p *seenPool) addAddress(network string, n int) netip.Addr {
	p.t.Helper()
	address := fmt.Sprintf("%s::%x", network, n)
	lab.Output(p.t, exec.Command("ip", "-6", "address", "add", address+"/64", "dev", "lo", "nodad"))
	return netip.MustParseAddr(address)
}

// balance starts a HAProxy that asks from an address.
func (p *seenPool) balance(node string, source netip.Addr, inter, turn time.Duration) {
	p.t.Helper()
	config := strings.NewReplacer(append(p.replace,
		"NODE", node,
		"SOURCE", "["+source.String()+"]",
		"INTER", fmt.Sprint(inter.Milliseconds()),
		"TURN", fmt.Sprint(turn.Milliseconds()),
	)...).Replace(seenConfig)
	p.proxies = append(p.proxies, lab.StartHAProxy(p.t, config))
}

// settle waits until each HAProxy has both masters fully UP, and the daemons have heard the usual balancers.
func (p *seenPool) settle() {
	p.t.Helper()
	for _, h := range p.proxies {
		h.WaitEach(30*time.Second, lab.ServerStat.Healthy)
	}
	for _, m := range p.masters {
		m.WaitStatus(30*time.Second, func(s lab.Status) error {
			d := s.Master().Departure
			isYoung := func(o lab.Blocker) bool { return o.Kind == blocker.Unknown }
			inTheWay := append(slices.DeleteFunc(d.Blockers, isYoung), d.Return...)
			if len(inTheWay) > 0 {
				return fmt.Errorf("in the way: %v", inTheWay)
			}
			return nil
		})
	}
}

// assertFirst asserts what each HAProxy has concluded of the first master, in the backend of the pool.
func (p *seenPool) assertFirst(status string) {
	p.t.Helper()
	for i, h := range p.proxies {
		if got := h.Status("puppet", "m1"); got != status {
			p.t.Errorf("HAProxy %d has m1 %s, want %s", i, got, status)
		}
	}
}

func (p *seenPool) assertNoOutage() {
	p.t.Helper()
	for i, h := range p.proxies {
		if n := h.Outages("puppet"); n > 0 {
			p.t.Errorf("HAProxy %d has had no server %d times", i, n)
		}
	}
}

// TestNineHAProxiesOfOneNetwork: each has the backend of the pool and that for turns, in one IPv6 /64. A drain ends,
// two works in the same second leave no HAProxy without a server, and the last server stays.
func TestNineHAProxiesOfOneNetwork(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const network = "2001:db8:0:9"
	p := startSeenPool(t, network)
	for n := range 9 {
		p.balance(fmt.Sprintf("lb%d", n), p.addAddress(network, n+1), time.Second, time.Second/2)
	}
	p.settle()
	first, second := p.masters[0], p.masters[1]

	began := time.Now()
	first.MustRun("drain")
	t.Logf("measured: drained after %s", time.Since(began).Round(100*time.Millisecond))
	p.assertFirst("NOLB")

	out, status := second.Run("drain", "--timeout", "10s")
	if status != 7 {
		t.Errorf("the last server: exit status %d, want 7\n%s", status, out)
	}
	first.MustRun("ready", "--wait")
	second.MustRun("ready", "--wait")

	began = time.Now()
	var works errgroup.Group
	for _, m := range p.masters {
		works.Go(func() error {
			for _, command := range [][]string{{"drain", "--wait"}, {"ready", "--wait"}} {
				if out, status := m.Run(command...); status != 0 {
					return fmt.Errorf("%s: exit status %d\n%s", command, status, out)
				}
			}
			return nil
		})
	}
	if err := works.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("measured: both have worked after %s", time.Since(began).Round(100*time.Millisecond))
	p.assertNoOutage()
}

// TestTwoHAProxiesWithOneName: a drain ends once both have the master out, whichever asked last.
func TestTwoHAProxiesWithOneName(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const network = "2001:db8:0:2"
	p := startSeenPool(t, network)
	source := p.addAddress(network, 1)
	for _, slower := range []float64{1, 1.3} {
		turn := time.Duration(slower * float64(time.Second))
		p.balance("lb", source, 2*turn, turn)
	}
	p.settle()

	times := 2
	if lab.Long() {
		times = 12
	}
	for range times {
		began := time.Now()
		p.masters[0].MustRun("drain")
		p.assertFirst("NOLB")
		t.Logf("measured: drained after %s", time.Since(began).Round(100*time.Millisecond))
		p.masters[0].MustRun("ready", "--wait")
	}
	p.assertNoOutage()
}

// TestHAProxyWithALongDowninter: HAProxy has a master DOWN after its third refusal, and asks again after downinter. A
// drain does not wait for that, and ready does. PMCHECK_LONG=1 has the three minutes of public configurations.
func TestHAProxyWithALongDowninter(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	downinter := 30 * time.Second
	if lab.Long() {
		downinter = 3 * time.Minute
	}
	site := lab.StartSite(t, lab.SiteOptions{})
	other := lab.StartSite(t, lab.SiteOptions{})
	server := func(name string, s *lab.Site) string {
		return fmt.Sprintf("    server %s %s check port %s\n", name, s.MasterAddress(), lab.Port(t, s.Listen))
	}
	h := lab.StartHAProxy(t, fmt.Sprintf("backend puppet\n    option httpchk GET /\n    http-check send-state\n"+
		"    default-server inter 2s downinter %dms fall 3 rise 2 weight 100\n", downinter.Milliseconds())+
		server("m1", site)+server("m2", other))
	p := &seenPool{t: t, masters: []*lab.Site{site, other}, proxies: []*lab.HAProxy{h}}
	p.settle()

	began := time.Now()
	site.MustRun("drain")
	took := time.Since(began).Round(100 * time.Millisecond)
	t.Logf("measured: drained after %s", took)
	if took > 25*time.Second {
		t.Errorf("drained after %s, want 20 s: six of HAProxy's checks, and 10 s", took)
	}
	p.assertFirst("DOWN")

	site.MustRun("ready", "--wait", "--timeout", "10m")
	t.Logf("measured: in service again %s after the drain", time.Since(began).Round(100*time.Millisecond))
	p.assertFirst("UP")
	p.assertNoOutage()
}

// TestAHAProxyThatIsNotListed: it has this master as its last server. A drain does not wait for it, and names it before
// the hold is firm, upon which it is told like all.
func TestAHAProxyThatIsNotListed(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	site := lab.StartSite(t, lab.SiteOptions{YAML: "balancers: [192.0.2.5]\n"})
	h := lab.StartHAProxy(t, fmt.Sprintf("global\n    node new\nbackend puppet\n    option httpchk GET /?drain=404\n"+
		"    http-check disable-on-404\n    http-check send-state\n    server m1 %s check port %s inter 1s weight 100\n",
		site.MasterAddress(), lab.Port(t, site.Listen)))
	h.WaitEach(30*time.Second, lab.ServerStat.Healthy)
	site.WaitStatus(10*time.Second, func(s lab.Status) error {
		if len(s.Unlisted) != 1 {
			return fmt.Errorf("not listed are %+v, want one", s.Unlisted)
		}
		return nil
	})

	said, err := site.Command("drain").CombinedOutput()
	if err != nil {
		t.Errorf("drain: %v\n%s", err, said)
	}
	named := strings.Index(string(said), "does not wait for balancer new/puppet")
	firm := strings.Index(string(said), "in effect: OUT")
	if named < 0 || firm < named {
		t.Errorf("drain does not name the balancer that it takes the last server from, and then say that it is out:\n%s",
			said)
	}
	h.WaitStatus("puppet", "m1", "NOLB", 5*time.Second)
}
