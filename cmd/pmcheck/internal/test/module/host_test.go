package module_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A site is a booted host with Puppet Server, agent and xinetd, a balancer in
// front of it, and the package at debFile.
type site struct {
	t       *testing.T
	net     *lab.Network
	host    *lab.Host
	master  *lab.PuppetMaster
	haproxy *lab.HAProxy
}

const debFile = "/root/pmcheck.deb"

// balancer has the check of the README.
const balancer = `
defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 30m
    timeout server 30m

frontend puppet
    bind ` + lab.BridgeAddress + `:8140
    default_backend puppet

backend puppet
    balance leastconn
    option httpchk GET /
    default-server check port 9200 inter 2s fall 3 rise 2
    server m1 %s
`

// TestOnAHost is the life of one master: it has the check of old, moves to
// pmcheck, and is then given to Puppet.
func TestOnAHost(t *testing.T) {
	lab.Real(t)
	t.Parallel() // beside TestCatalogs: it begins with the start of a Puppet Server
	lab.Need(t, "xinetd", "xinetd")
	lab.Need(t, "socat", "socat")
	n := lab.StartNetwork(t)
	h := n.Boot("m1")
	s := &site{t: t, net: n, host: h, master: h.StartPuppetMaster(lab.PuppetMasterOptions{HeapMB: 768})}
	// What this machine has of pmcheck, and what keeps packages in containers
	// from starting anything, is not there.
	h.MustRun("rm", "-rf", "/usr/bin/pmcheck", "/etc/pmcheck", "/var/lib/pmcheck", "/usr/sbin/policy-rc.d")
	h.Copy(lab.DEB(t, "0.0.1"), debFile, 0o644)
	s.startAncestor()
	s.copyModule()
	t.Logf("Puppet Server starts in %v", s.master.WaitReady(2*time.Minute))
	s.haproxy = n.StartHAProxy(t, fmt.Sprintf(balancer, s.master.Address()))
	s.haproxy.WaitStat("puppet", "m1", func(stat lab.ServerStat) bool { return stat.CheckStatus == "L7OK" }, 10*time.Second)

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pmcheck on the host:\n%s", h.Journal("pmcheck.service", "pmcheck.socket", "pmcheck-guard@puppetserver.service"))
		}
	})

	t.Run("migrate", func(t *testing.T) { s.with(t).testMigrate() })
	h.MustRun("systemctl", "stop", "xinetd")
	h.MustRun("dpkg", "--purge", "pmcheck")
	t.Run("module", func(t *testing.T) { s.with(t).testModule() })
}

// with returns s for a subtest.
func (s *site) with(t *testing.T) *site {
	sub := *s
	sub.t = t
	return &sub
}

// get asks pmcheck, or whoever listens there, from outside of the host.
func (s *site) get(port int) (code int, body string, err error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return s.net.DialContext(ctx, network, fmt.Sprintf("%s:%d", s.host.Address, port))
		},
	}}
	resp, err := client.Get("http://m1/")
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(data)), err
}

// await waits until the answer on a port is as wanted.
func (s *site) await(port, code int, body string) {
	s.t.Helper()
	lab.RetryUntil(s.t, 20*time.Second, 10*time.Millisecond, func() error {
		gotCode, gotBody, err := s.get(port)
		if err == nil && (gotCode != code || gotBody != body) {
			err = fmt.Errorf("%d %q on port %d, want %d %q", gotCode, gotBody, port, code, body)
		}
		return err
	})
}

// A watch asks port 9200 all the time.
type watch struct {
	stop context.CancelFunc
	done sync.WaitGroup

	refused atomic.Bool // at least once
	// What follows is to be read after end.
	answers map[string]int // by answer, or "no answer"
	longest time.Duration  // without an answer of 200
	last    error
}

// watch begins to ask, fifty times per second, until its end is called.
func (s *site) watch() *watch {
	ctx, stop := context.WithCancel(s.t.Context())
	w := &watch{stop: stop, answers: map[string]int{}}
	w.done.Go(func() {
		good := time.Now()
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case <-ticker.C:
			}
			code, body, err := s.get(9200)
			answer := fmt.Sprintf("%d %s", code, body)
			if err != nil {
				answer, w.last = "no answer", err
				w.refused.Store(true)
			}
			w.answers[answer]++
			w.longest = max(w.longest, time.Since(good))
			if code == http.StatusOK {
				good = time.Now()
			}
		}
	})
	s.t.Cleanup(stop)
	return w
}

func (w *watch) end() *watch {
	w.stop()
	w.done.Wait()
	return w
}
