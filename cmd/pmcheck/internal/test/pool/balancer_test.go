//go:build linux

package pool_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
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
}

// balancerConfig is examples/haproxy/pool.cfg but for the backend, which
// is told apart by what checks it, and the addresses.
const balancerConfig = `
global
    node %s
defaults
    mode tcp
    log global
    option tcplog
    timeout connect 5s
    timeout client 30m
    timeout server 30m
    source %s
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
			p.balancers = append(p.balancers, &balancer{endpoint: balancerEnd(i)})
		}
		b := p.balancers[i]
		config := fmt.Sprintf(balancerConfig, b.name, b.ip(), b.address, backend)
		switch {
		case !fresh:
			b.Reload(config)
		case i == 1 && p.host != nil:
			b.HAProxy = p.host.StartHAProxy(config)
		default:
			b.HAProxy = p.net.StartHAProxy(p.t, config)
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
