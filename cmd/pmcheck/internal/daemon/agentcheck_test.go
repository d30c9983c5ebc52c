package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// startWithAgentChecks starts a daemon that answers agent-checks too.
func startWithAgentChecks(t *testing.T, change func(*config.Config)) *testDaemon {
	t.Helper()
	return start(t, func(c *config.Config) {
		c.Agent.Listen = "127.0.0.1:0"
		if change != nil {
			change(c)
		}
	})
}

// agentCheck makes one agent-check from an address. It sends say first, and returns the
// whole answer.
func (r *testDaemon) agentCheck(from, say string) (string, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", r.AgentPorts[0].Addr().String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if say != "" {
		if _, err := io.WriteString(c, say); err != nil {
			return "", err
		}
	}
	told, err := io.ReadAll(c)
	return string(told), err
}

// waitForLine makes agent-checks until the answer is want.
func (r *testDaemon) waitForLine(want string) {
	r.t.Helper()
	var got string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(pollEvery) {
		if got, _ = r.agentCheck("127.0.0.1", ""); got == want+"\n" {
			return
		}
	}
	r.t.Fatalf("the line stayed %q, want %q", got, want)
}

// A client of the agent port that does not close its connection does not delay the
// daemon's shutdown.
func TestOpenAgentCheckDoesNotDelayShutdown(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, nil)
	c, err := net.Dial("tcp", r.AgentPorts[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("the daemon waits for a client of its agent port")
	}
}

func TestAgentCheckFollowsModeAndVerdict(t *testing.T) {
	r := startWithAgentChecks(t, nil)
	r.waitForLine("ready up 100% # ok")
	r.master.Set(checktest.Stopped)
	r.waitForLine("ready down 100% # refused")
	if _, err := r.store.Put(drain.Hold{Holder: "operator", Mode: drain.Drain}); err != nil {
		t.Fatal(err)
	}
	r.waitForLine("drain down # refused")
	r.master.Set(checktest.Running)
	if _, err := r.store.Put(drain.Hold{Holder: "upgrade", Mode: drain.Maint}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Lift("operator", ""); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.run()
	r.waitForLine("maint up # ok")
	if _, err := r.store.LiftAll(); err != nil {
		t.Fatal(err)
	}
	r.waitForLine("ready up 100% # ok")
}

func TestAgentCheckInputIsIgnored(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, nil)
	for _, say := range []string{"", "\n", "ca\n", "drain\n", "GET / HTTP/1.0\r\n\r\n", strings.Repeat("x", 900)} {
		told, err := r.agentCheck("127.0.0.1", say)
		if told != "ready up 100% # ok\n" || err != nil {
			t.Errorf("%.20q: told %q, %v", say, told, err)
		}
	}
}

func TestAllowLimitsAgentChecks(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, func(c *config.Config) {
		c.Agent.Listen = "0.0.0.0:0"
		c.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	if told, err := r.agentCheck("127.0.0.1", ""); told == "" || err != nil {
		t.Errorf("from 127.0.0.1: told %q, %v", told, err)
	}
	if told, _ := r.agentCheck("127.0.0.2", ""); told != "" {
		t.Errorf("127.0.0.2 is not in allow and was told %q", told)
	}
}

func TestAgentCheckIsRemembered(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, func(c *config.Config) {
		c.Balancers = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	for _, from := range []string{"127.0.0.1", "127.0.0.1", "127.0.0.2"} {
		if _, err := r.agentCheck(from, ""); err != nil {
			t.Fatal(err)
		}
	}
	list := r.Status(time.Now()).Balancers
	if len(list) != 1 {
		t.Fatalf("%d balancers, want one: %+v", len(list), list)
	}
	got := list[0]
	got.Seen, got.Interval = time.Time{}, 0
	want := balancer.Balancer{
		Source:    netip.MustParseAddr("127.0.0.1"),
		Name:      balancer.AgentCheck,
		Service:   monitor.Server,
		Checks:    2,
		DrainCode: 503,
		MaintCode: 503,
		BusyCode:  200,
		Answer:    balancer.Told{Code: 200, Body: "ready up 100% # ok"},
		Answers:   2,
	}
	if got != want {
		t.Errorf("remembered %+v, want %+v", got, want)
	}
}

// The daemon notes with a balancer's view whether the weights in it follow the load.
func TestAgentWeightIsNotedWithTheView(t *testing.T) {
	t.Parallel()
	for _, weight := range []bool{false, true} {
		r := startWithAgentChecks(t, func(c *config.Config) { c.Agent.Weight = weight })
		if _, err := r.agentCheck("127.0.0.1", ""); err != nil {
			t.Fatal(err)
		}
		r.ask("GET / HTTP/1.0\r\n" + balancer.StateHeader + ": UP; name=p/m1; node=lb1; weight=100/200\r\n\r\n")
		for _, b := range r.Status(time.Now()).Balancers {
			if b.View != nil && b.LoadWeights != weight {
				t.Errorf("agent.weight %v: weights follow the load: %v", weight, b.LoadWeights)
			}
		}
		if n := len(r.Status(time.Now()).Balancers); n != 2 {
			t.Errorf("%d entries, want those of the agent-check and of the view", n)
		}
	}
}

func TestIdleClientsDoNotBlockAgentChecks(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, func(c *config.Config) { c.MaxConnections = 10 })
	for range 50 { // they do not close their connections
		c, err := net.Dial("tcp", r.AgentPorts[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	r.waitForLine("ready up 100% # ok")
}

func TestInheritedAgentPortIsServed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := r.config
	c.Socket += ".second"
	second := daemon.New(c, "test.yaml", "test", slog.New(slog.DiscardHandler))
	second.AgentPorts = []net.Listener{l}
	ctx, cancel := context.WithCancel(context.Background())
	if err := second.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- second.Serve(ctx) }()
	r.Daemon = second
	r.waitForLine("ready up 100% # ok")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is open after Serve")
	}
}

func TestWeightFollowsAReload(t *testing.T) {
	t.Parallel()
	r := startWithAgentChecks(t, func(c *config.Config) { c.Agent.Weight = true })
	r.waitForLine("ready up 100% # ok")
	r.master.SetPool(check.Pool{Size: 4, Borrowed: make([]check.Loan, 4), Lock: "not-in-use"})
	weight := 100
	for end := time.Now().Add(10 * time.Second); weight > 80 && time.Now().Before(end); time.Sleep(pollEvery) {
		line, err := r.agentCheck("127.0.0.1", "")
		if _, scanErr := fmt.Sscanf(line, "ready up %d%% # ok", &weight); err != nil || scanErr != nil {
			t.Fatalf("line %q, %v", line, err)
		}
	}
	if weight > 80 {
		t.Errorf("weight %d with all JRubies at work", weight)
	}
	c := r.config
	c.Agent.Weight = false
	r.Reload(c, "test.yaml")
	r.waitForLine("ready up 100% # ok")
}
