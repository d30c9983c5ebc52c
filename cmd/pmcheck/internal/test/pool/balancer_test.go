package pool_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An endpoint is a balancer as agents know it.
type endpoint struct{ name, ip string }

func endpoints() []endpoint { return []endpoint{{"lb1", "198.18.1.1"}, {"lb2", "198.18.1.2"}} }

func (e endpoint) fqdn() string { return e.name + ".lab.example" }

func (e endpoint) address() string { return e.ip + ":8140" }

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
	for i, e := range endpoints() {
		if fresh {
			p.balancers = append(p.balancers, &balancer{endpoint: e})
		}
		b := p.balancers[i]
		config := fmt.Sprintf(balancerConfig, e.name, e.ip, e.address(), backend)
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
	for _, b := range p.balancers {
		b.WaitEach(10*time.Minute, func(s lab.ServerStat) bool {
			return s.Healthy() || s.CheckStatus == "" // of a server that tracks another
		})
	}
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
		if s.Backend == "0-turn" {
			continue // it has no agents
		}
		state, _, _ := strings.Cut(s.Status, " ") // of "UP 1/3"
		states = append(states, s.Server+" "+state+" "+s.CheckStatus)
	}
	return strings.Join(states, ", ")
}
