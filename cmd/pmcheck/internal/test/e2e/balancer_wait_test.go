package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// waitAccuracy is how long after the last run has ended drain --wait returns, at
// the latest.
const waitAccuracy = 2 * time.Second

// tellTime is how long a gate takes to have the master out and to say so: fall
// checks, one more that tells, and a second until the first.
const tellTime = 5 * time.Second

// A gate is one real HAProxy in front of the master.
type gate struct {
	*lab.HAProxy
	address string // where agents come
	config  string
	lost    bool // it asks no more, so it may believe what it likes
}

// gateSource is the address that gates ask from: what the test asks is not to be
// taken for a balancer's question.
const gateSource = "127.0.0.2"

// The ways in which a gate asks.
const (
	gateGraceful = " option httpchk GET /?drain=404\n http-check disable-on-404\n http-check send-state\n"
	gateClassic  = " option httpchk GET /\n http-check send-state\n"
	gateSilent   = " option httpchk GET /\n" // never tells its state
	gateAgent    = " option httpchk GET /?drain=200&maint=200\n http-check send-state\n default-server agent-check agent-port %s agent-inter 1s weight 100\n"
)

func openGate(t *testing.T, node, asks string, s *lab.PuppetServer, r *rig) *gate {
	t.Helper()
	g := &gate{address: lab.FreeAddress(t, "127.0.0.1")}
	g.config = fmt.Sprintf("global\n node %s\n%slisten puppet\n bind %s\n%s server m1 %s check port %s inter 1s fall 3 rise 2 source %s\n",
		node, tcpDefaults, g.address, asks, s.Address(), portOf(t, r.address), gateSource)
	g.HAProxy = lab.StartHAProxy(t, g.config)
	g.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Status == "UP" && s.CheckCode == "200" }, 10*time.Second)
	return g
}

// A waited is one drain --wait, from agents on their way to its end.
type waited struct {
	name   string
	took   time.Duration // of the catalogs
	before func(*waiting)
	during func(*waiting) // once the drain is in effect
}

// A waiting is the scene of a drain --wait.
type waiting struct {
	*rig
	t         *testing.T
	server    *lab.PuppetServer
	agentPort string
	agent     *puppetAgent
	gates     []*gate
	runs      runs
}

// openGate opens one more gate.
func (w *waiting) openGate(asks string) *gate {
	w.t.Helper()
	g := openGate(w.t, fmt.Sprintf("lb%d", len(w.gates)+1), asks, w.server, w.rig)
	w.gates = append(w.gates, g)
	return g
}

// waits are the drains that a real master is put through.
func waits() []waited {
	list := []waited{
		{name: "catalogs of 1 s", took: time.Second},
		{name: "catalogs of 20 s", took: 20 * time.Second},
		{name: "one never tells its state, one hears by agent-check", took: time.Second, before: func(w *waiting) {
			w.openGate(gateSilent)
			w.openGate(fmt.Sprintf(gateAgent, w.agentPort))
		}},
		{name: "one is cut off, and sends agents all the same", took: time.Second, before: func(w *waiting) {
			g := w.gates[1]
			g.lost = true
			g.Admin("disable health puppet/m1") // as by a firewall between it and port 9200
			w.runs.loop(w.agent, g.address, time.Now().Add(14*time.Second))
		}},
		{name: "one is killed, one reloaded, one hangs", took: 20 * time.Second, before: func(w *waiting) {
			for range 3 {
				w.openGate(gateClassic)
			}
		}, during: func(w *waiting) {
			killed, reloaded, hanging := w.gates[2], w.gates[3], w.gates[4]
			killed.lost, hanging.lost = true, true
			killed.Kill()
			reloaded.Reload(reloaded.config) // forgets what it knew, and takes the master for UP
			if err := syscall.Kill(-hanging.Pid(), syscall.SIGSTOP); err != nil {
				w.t.Error(err)
			}
		}},
	}
	if long() {
		list = append(list, waited{name: "catalogs of 90 s", took: 90 * time.Second})
	}
	return list
}

// testDrainWait drains a real master with catalogs in flight.
func testDrainWait(t *testing.T, s *lab.PuppetServer) {
	s.SetSitePP(`node /^sleep(\d+)/ { notice(generate("/bin/sleep", "$1")) } node default {}`)
	for _, w := range waits() {
		t.Run(w.name, func(t *testing.T) { w.test(t, s) })
	}
}

func (d waited) test(t *testing.T, s *lab.PuppetServer) {
	r, agentPort := serveAgent(t, puppetConf(s.PuppetConf())+"balancers: ["+gateSource+"]\n")
	w := &waiting{rig: r, t: t, server: s, agentPort: agentPort, runs: runs{t: t}}
	w.agent = newAgent(t, fmt.Sprintf("sleep%d", int(d.took.Seconds())), s)
	for _, asks := range []string{gateGraceful, gateClassic} {
		g := w.openGate(asks)
		w.runs.start(w.agent, g.address)
		g.awaitSession()
	}
	if d.before != nil {
		d.before(w)
	}
	began := time.Now()
	returned := make(chan time.Time, 1)
	go func() {
		out, status := r.run("drain", "--force", "--wait=4m") // each gate has but one server
		if status != 0 {
			t.Errorf("drain --wait ends with %d:\n%s", status, out)
		}
		returned <- time.Now()
	}()
	r.await(503, "drain", 10*time.Second)
	if d.during != nil {
		d.during(w)
	}
	w.runs.group.Wait()
	w.check(began, <-returned)
}

// check: the wait came to its end when the last run had, and no sooner, and no
// gate that asks still sends agents.
func (w *waiting) check(began, returned time.Time) {
	w.t.Helper()
	last := w.runs.last
	measured(w.t, w.t.Name(), fmt.Sprintf("%d runs, the last ended after %.1f s, returned %.2f s later",
		w.runs.n, last.Sub(began).Seconds(), returned.Sub(last).Seconds()))
	if returned.Before(last) {
		w.t.Errorf("returned %v before the last run ended", last.Sub(returned))
	}
	idle := last
	if told := began.Add(tellTime); told.After(idle) {
		idle = told
	}
	if late := returned.Sub(idle); late > waitAccuracy+4*slack { // four looks, each of which a busy machine delays
		w.t.Errorf("returned %v after the master was idle, want %v at most", late, waitAccuracy)
	}
	for i, g := range w.gates {
		if g.lost {
			continue
		}
		if status := g.Stat("puppet", "m1").Status; strings.HasPrefix(status, "UP") {
			w.t.Errorf("lb%d still has the master %s", i+1, status)
		}
	}
}

// awaitSession waits until an agent's session is open.
func (g *gate) awaitSession() {
	g.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Sessions > 0 }, 20*time.Second)
}

// TestWaitForADeadMaster: it has no requests, which it can no longer say itself.
// Beside other tests somebody else would soon listen on its port.
func TestWaitForADeadMaster(t *testing.T) {
	lab.Real(t)
	m, conf := standIn(t)
	r := serve(t, conf)
	lab.RetryUntil(t, 10*time.Second, 10*time.Millisecond, func() error {
		if finding(r.status(), check.CheckJRuby).Pool == nil {
			return errors.New("the JRubies have not been counted")
		}
		return nil
	})
	m.Close()
	r.awaitRefusal("unhealthy: refused", 5*time.Second)
	r.succeed("drain", "--wait=30s") // who asked until now is waited for, for 10 s
}

// TestWaitForConnections: they are looked for on the port that puppet.conf has.
func TestWaitForConnections(t *testing.T) {
	lab.Real(t)
	m, conf := standIn(t)
	r := serve(t, conf)
	c, err := net.Dial("tcp", m.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte{22}); err != nil { // TLS begins so; the kernel counts from the first byte
		t.Fatal(err)
	}
	out, err := r.command("drain", "--wait=2s").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 6 || !strings.Contains(string(out), "1 connection in use, from 127.0.0.1") {
		t.Errorf("%v, want exit status 6 for the connection:\n%s", err, out)
	}
}
