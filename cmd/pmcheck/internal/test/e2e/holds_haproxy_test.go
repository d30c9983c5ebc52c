package e2e_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// holdsConfig has HAProxy check the classic way and the one for an orderly
// drain, at the interval that it defaults to in most of the world's recipes.
const holdsConfig = `
defaults
    mode tcp
    timeout connect 1s
    timeout client 1m
    timeout server 1m
    default-server inter 1s fall 3 rise 2
    option httpchk
listen classic
    bind %s
    http-check send meth GET uri /
    server m1 %s check port %s
listen graceful
    bind %s
    http-check send meth GET uri /?drain=404
    http-check disable-on-404
    server m1 %s check port %s
`

// A farm is one kind of balancing, as HAProxy shows it and as an agent meets it.
type farm struct {
	name, address string
	down          string // HAProxy's word for a master that is drained
	leave, back   limit  // for HAProxy to act on a drain, and on its end
}

// A limit is a time, and what of HAProxy's configuration makes it so long.
type limit struct {
	time.Duration
	why string
}

// TestHAProxyFollowsHolds: HAProxy does with a drain what it was told to, in its
// own time and no later, and leaves alone the sessions that there are.
func TestHAProxyFollowsHolds(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const rounds = 2
	_, conf := standIn(t)
	r := serve(t, conf)
	farms := []*farm{
		{"classic", lab.FreeAddress(t, "127.0.0.1"), "DOWN",
			limit{3 * time.Second, "fall × inter"}, limit{2 * time.Second, "rise × inter"}},
		{"graceful", lab.FreeAddress(t, "127.0.0.1"), "NOLB",
			limit{time.Second, "the next check"}, limit{time.Second, "the next check"}},
	}
	echo := echoServer(t)
	_, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(holdsConfig, farms[0].address, echo, port, farms[1].address, echo, port)
	lab.CheckHAProxyConfig(t, config)
	b := &balancer{HAProxy: lab.StartHAProxy(t, config), t: t, lines: []line{{name: "classic"}, {name: "graceful"}}}
	b.awaitAll(func(_ line, s lab.ServerStat) bool { return s.Status == "UP" && s.CheckCode == "200" }, 10*time.Second)

	left, back := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range rounds {
		sessions := map[string]*session{}
		for _, f := range farms {
			sessions[f.name] = dialSession(t, f.address)
		}
		r.succeed("drain", "--reason", "upgrade")
		for name, took := range b.awaitFarms(time.Now(), func(f *farm) string { return f.down }, farms) {
			left[name] = append(left[name], took)
		}
		for _, f := range farms {
			if !sessions[f.name].carries() {
				t.Errorf("%s: a session of before the drain is cut off", f.name)
			}
			if dialSession(t, f.address).carries() {
				t.Errorf("%s: a new session reaches the drained master", f.name)
			}
		}
		r.succeed("ready")
		for name, took := range b.awaitFarms(time.Now(), func(*farm) string { return "UP" }, farms) {
			back[name] = append(back[name], took)
		}
		for _, f := range farms {
			if !sessions[f.name].carries() || !dialSession(t, f.address).carries() {
				t.Errorf("%s: no session after the drain", f.name)
			}
		}
	}
	for _, f := range farms {
		f.report(t, "drain to "+f.down, left[f.name], f.leave)
		f.report(t, "ready to UP", back[f.name], f.back)
	}
}

// report prints a row of the table and asserts its bound.
func (f *farm) report(t *testing.T, what string, took []time.Duration, bound limit) {
	t.Helper()
	var figures []string
	for _, d := range took {
		figures = append(figures, fmt.Sprintf("%4d ms", d.Milliseconds()))
		if d > bound.Duration+slack {
			t.Errorf("%s, %s took %v, want %v at most", f.name, what, d, bound.Duration)
		}
	}
	measured(t, fmt.Sprintf("HAProxy, %-8s %-13s", f.name, what),
		fmt.Sprintf("%s (%s, so %v at most)", strings.Join(figures, "  "), bound.why, bound.Duration))
}

// awaitFarms waits until each farm's server has its status, and returns how
// long each took since a moment.
func (b *balancer) awaitFarms(since time.Time, status func(*farm) string, farms []*farm) map[string]time.Duration {
	b.t.Helper()
	want, took := map[string]string{}, map[string]time.Duration{}
	for _, f := range farms {
		want[f.name] = status(f)
	}
	b.awaitAll(func(l line, s lab.ServerStat) bool {
		reached := s.Status == want[l.name]
		if reached && took[l.name] == 0 {
			took[l.name] = time.Since(since)
		}
		return reached
	}, 10*time.Second)
	return took
}

// succeed runs a command of which nothing but success matters.
func (r *rig) succeed(args ...string) {
	r.t.Helper()
	if out, status := r.run(args...); status != 0 {
		r.t.Fatalf("pmcheck %s: exit status %d\n%s", strings.Join(args, " "), status, out)
	}
}

// echoServer stands for the master on the way that agents take.
func echoServer(t *testing.T) (address string) {
	t.Helper()
	return echoAt(t, "127.0.0.1:0")
}

func echoAt(t *testing.T, listen string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// A session is a connection of an agent through HAProxy.
type session struct{ net.Conn }

func dialSession(t *testing.T, address string) *session {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &session{c}
}

// carries reports whether the session carries bytes there and back.
func (s *session) carries() bool {
	const bytes = "catalog"
	s.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(s, bytes); err != nil {
		return false
	}
	back := make([]byte, len(bytes))
	_, err := io.ReadFull(s, back)
	return err == nil && string(back) == bytes
}
