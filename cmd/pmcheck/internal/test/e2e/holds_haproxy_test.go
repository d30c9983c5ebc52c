//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// holdsConfig makes HAProxy check in the classic way and in the way for a graceful drain,
// at the interval of most published recipes.
const holdsConfig = `
defaults
    mode tcp
    timeout connect 1s
    timeout client 1m
    timeout server 1m
    default-server inter 1s fall 3 rise 2
    option httpchk
listen classic
    bind CLASSIC
    http-check send meth GET uri /
    server m1 ECHO check port LISTEN-PORT
listen graceful
    bind GRACEFUL
    http-check send meth GET uri /?drain=404
    http-check disable-on-404
    server m1 ECHO check port LISTEN-PORT
`

// A kind is one way to check a master, with the address where agents connect.
type kind struct {
	name, address string
	down          string // HAProxy's word for a master that is drained
	leave, back   limit  // for HAProxy to act on a drain, and on its end
}

// A limit is a bound on a time, and the part of HAProxy's configuration that sets it.
type limit struct {
	time.Duration
	why string
}

// TestHAProxyFollowsHolds: HAProxy acts on a drain as it is configured, within the time
// that its configuration allows, and leaves open sessions alone.
func TestHAProxyFollowsHolds(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const rounds = 2
	r := lab.StartSite(t, lab.SiteOptions{})
	kinds := []*kind{
		{"classic", lab.Address(t, "127.0.0.1"), "DOWN",
			limit{3 * time.Second, "fall × inter"}, limit{2 * time.Second, "rise × inter"}},
		{"graceful", lab.Address(t, "127.0.0.1"), "NOLB",
			limit{time.Second, "the next check"}, limit{time.Second, "the next check"}},
	}
	config := strings.NewReplacer(
		"CLASSIC", kinds[0].address,
		"GRACEFUL", kinds[1].address,
		"ECHO", startEcho(t),
	).Replace(holdsConfig)
	b := &balancer{HAProxy: r.Balance(config), t: t, lines: []line{{name: "classic"}, {name: "graceful"}}}
	b.waitForAll(func(_ line, s lab.ServerStat) bool { return s.Status == "UP" && s.CheckCode == "200" }, 10*time.Second)

	left, back := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range rounds {
		sessions := map[string]*session{}
		for _, k := range kinds {
			sessions[k.name] = startSession(t, k.address)
		}
		r.MustRun("drain", "--reason", "upgrade")
		for name, took := range b.waitForKinds(time.Now(), func(k *kind) string { return k.down }, kinds) {
			left[name] = append(left[name], took)
		}
		for _, k := range kinds {
			if !sessions[k.name].carries() {
				t.Errorf("%s: a session from before the drain was cut off", k.name)
			}
			if startSession(t, k.address).carries() {
				t.Errorf("%s: a new session reached the drained master", k.name)
			}
		}
		r.MustRun("ready")
		for name, took := range b.waitForKinds(time.Now(), func(*kind) string { return "UP" }, kinds) {
			back[name] = append(back[name], took)
		}
		for _, k := range kinds {
			if !sessions[k.name].carries() || !startSession(t, k.address).carries() {
				t.Errorf("%s: no session works after the drain", k.name)
			}
		}
	}
	for _, k := range kinds {
		k.report(t, "drain to "+k.down, left[k.name], k.leave)
		k.report(t, "ready to UP", back[k.name], k.back)
	}
}

// report prints a row of the table and asserts its bound.
func (k *kind) report(t *testing.T, what string, took []time.Duration, bound limit) {
	t.Helper()
	var figures []string
	for _, d := range took {
		figures = append(figures, fmt.Sprintf("%4d ms", d.Milliseconds()))
		if d > bound.Duration+slack {
			t.Errorf("%s, %s took %v, want %v at most", k.name, what, d, bound.Duration)
		}
	}
	measured(t, fmt.Sprintf("HAProxy, %-8s %-13s", k.name, what),
		fmt.Sprintf("%s (%s, so %v at most)", strings.Join(figures, "  "), bound.why, bound.Duration))
}

// waitForKinds waits until each kind's server has its status, and returns how
// long each took since a moment.
func (b *balancer) waitForKinds(since time.Time, status func(*kind) string, kinds []*kind) map[string]time.Duration {
	b.t.Helper()
	want, took := map[string]string{}, map[string]time.Duration{}
	for _, k := range kinds {
		want[k.name] = status(k)
	}
	b.waitForAll(func(l line, s lab.ServerStat) bool {
		reached := s.Status == want[l.name]
		if reached && took[l.name] == 0 {
			took[l.name] = lab.Since(since)
		}
		return reached
	}, 10*time.Second)
	return took
}
