//go:build linux

package pool_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An endpoint is a balancer as agents know it.
type endpoint struct{ name, address string }

func balancerEnd(i int) endpoint {
	return endpoint{fmt.Sprintf("lb%d", i+1), fmt.Sprintf("198.18.1.%d:8140", i+1)}
}

func (e endpoint) fqdn() string { return e.name + ".lab.example" }

func (e endpoint) ip() string {
	host, _, _ := net.SplitHostPort(e.address)
	return host
}

// A balancer is a real HAProxy.
type balancer struct {
	endpoint
	*lab.HAProxy
	config string
	state  string // the file that outlives a reload
}

// balancerConfig is examples/haproxy/pool.cfg but for the backend, which
// is told apart by what checks it, and the addresses.
const balancerConfig = `
global
    node %s
    server-state-file %s
defaults
    mode tcp
    log global
    option tcplog
    timeout connect 5s
    timeout client 30m
    timeout server 30m
    source %s
    load-server-state-from-file global
frontend agents
    bind %s
    default_backend puppet
%s
`

// balance starts both balancers with a backend, or has them take up another one,
// and waits until they send agents to both masters.
func (p *pool) balance(backend string) {
	p.t.Helper()
	fresh := len(p.balancers) == 0
	for i := range 2 {
		if fresh {
			e := balancerEnd(i)
			state := filepath.Join(p.t.TempDir(), "state")
			if err := os.WriteFile(state, []byte("1\n"), 0o644); err != nil { // of no server yet
				p.t.Fatal(err)
			}
			p.balancers = append(p.balancers, &balancer{endpoint: e, state: state})
		}
		b := p.balancers[i]
		b.config = fmt.Sprintf(balancerConfig, b.name, b.state, b.ip(), b.address, backend)
		switch {
		case !fresh:
			b.Reload(b.config)
		case i == 1 && p.host != nil:
			p.host.WriteFile(b.state, "1\n", 0o644)
			b.HAProxy = p.host.StartHAProxy(b.config)
		default:
			b.HAProxy = p.net.StartHAProxy(p.t, b.config)
		}
	}
	p.waitForUp()
}

// waitForUp waits until every balancer sends agents to every master.
func (p *pool) waitForUp() {
	p.t.Helper()
	lab.WaitFor(p.t, 10*time.Minute, 100*time.Millisecond, func() error {
		var wrong []error
		for _, b := range p.balancers {
			stats, err := b.Stats()
			if err != nil {
				return err
			}
			for _, s := range stats {
				if s.CheckStatus == "" { // it tracks another server
					continue
				}
				if s.Status != "UP" || strings.TrimPrefix(s.CheckStatus, "* ") != "L7OK" {
					wrong = append(wrong, fmt.Errorf("%s: %s is %s by %s", b.name, s.Server, s.Status, s.CheckStatus))
				}
			}
		}
		return errors.Join(wrong...)
	})
}

// saveState does what ExecReload= in the example does.
func (b *balancer) saveState() error {
	return os.WriteFile(b.state, []byte(b.Admin("show servers state")), 0o644)
}

// A directory leads agents from the names of balancers to their addresses, each
// time they connect. It may be used concurrently.
type directory struct {
	mu    sync.Mutex
	leads map[endpoint]endpoint // for those that are away
}

func (d *directory) find(e endpoint) endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	if other, away := d.leads[e]; away {
		return other
	}
	return e
}

// redirect has the name of a balancer lead to another one, as an administrator does
// before a balancer is stopped, or to itself again.
func (p *pool) redirect(from, to *balancer) error {
	p.directory.mu.Lock()
	p.directory.leads[from.endpoint] = to.endpoint
	p.directory.mu.Unlock()
	for _, host := range p.workshops {
		line := fmt.Sprintf("s/.* %s$/%s %[1]s/", from.fqdn(), to.ip())
		if _, err := host.Run("sed", "-i", line, "/etc/hosts"); err != nil {
			return err
		}
	}
	return nil
}
