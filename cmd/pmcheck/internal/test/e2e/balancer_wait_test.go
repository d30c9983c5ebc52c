//go:build linux

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
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// waitAccuracy is the longest time from the end of the last run until drain --wait
// returns.
const waitAccuracy = 2 * time.Second

// tellTime is how long a balancer takes to mark the master DOWN and to report it: a
// second until the first check, fall checks, and one more that reports.
const tellTime = 5 * time.Second

// A waitBalancer is one real HAProxy in front of the master.
type waitBalancer struct {
	*lab.HAProxy
	address string // where agents connect
	config  string
	lost    bool // it no longer asks, so its view does not matter
}

// balancerSource is the address from which these balancers ask. The test itself asks from
// another, so that pmcheck does not take it for a balancer.
const balancerSource = "127.0.0.2"

// The ways in which a balancer asks.
const (
	asksGraceful = " option httpchk GET /?drain=404\n http-check disable-on-404\n http-check send-state\n"
	asksClassic  = " option httpchk GET /\n http-check send-state\n"
	asksSilently = " option httpchk GET /\n" // never sends its state
)

// A waitCase is one drain --wait that begins while agents are running.
type waitCase struct {
	name    string
	catalog time.Duration // how long each takes
	before  func(*drainWait)
	during  func(*drainWait) // once the drain is in effect
}

// A drainWait is a drain --wait under way: a master, its balancers and agents.
type drainWait struct {
	*lab.Site
	t         *testing.T
	agent     *puppetAgent
	balancers []*waitBalancer
	runs      runs
}

// start starts one more balancer.
func (w *drainWait) start(asks string) *waitBalancer {
	w.t.Helper()
	b := &waitBalancer{address: lab.Address(w.t, "127.0.0.1")}
	b.config = fmt.Sprintf("global\n node lb%d\n%slisten puppet\n bind %s\n%s"+
		" server m1 MASTER check port LISTEN-PORT inter 1s fall 3 rise 2 source %s\n",
		len(w.balancers)+1, tcpDefaults, b.address, asks, balancerSource)
	b.HAProxy = w.Balance(b.config)
	b.WaitStat("puppet", "m1", func(s lab.ServerStat) bool {
		return s.Status == "UP" && s.CheckCode == "200"
	}, 10*time.Second)
	w.waitForIntervals()
	w.balancers = append(w.balancers, b)
	return b
}

// waitForIntervals waits until each balancer has asked twice. One that asked only once may
// be slow: if it is lost, pmcheck waits for it for 100 s.
func (w *drainWait) waitForIntervals() {
	w.t.Helper()
	w.WaitStatus(10*time.Second, func(s lab.Status) error {
		for _, b := range s.Balancers {
			if b.Source.String() == balancerSource && b.Checks < 2 {
				return fmt.Errorf("%s has asked only once", b.Label())
			}
		}
		return nil
	})
}

// waitCases returns the drains of a real master.
func waitCases() []waitCase {
	list := []waitCase{
		{name: "catalogs of 1 s", catalog: time.Second},
		{name: "catalogs of 20 s", catalog: 20 * time.Second},
		{
			name:    "one never sends its state",
			catalog: time.Second,
			before:  func(w *drainWait) { w.start(asksSilently) },
		},
		{
			name:    "one is cut off from pmcheck, and still sends agents",
			catalog: time.Second,
			before: func(w *drainWait) {
				b := w.balancers[1]
				b.lost = true
				b.Admin("disable health puppet/m1") // as by a firewall between it and port 9200
				w.runs.loop(w.agent, b.address, time.Now().Add(14*time.Second))
			},
		},
		{
			name:    "one is killed, one reloaded, one hangs",
			catalog: 20 * time.Second,
			before: func(w *drainWait) {
				for range 3 {
					w.start(asksClassic)
				}
			},
			during: loseBalancers,
		},
	}
	if long() {
		list = append(list, waitCase{name: "catalogs of 90 s", catalog: 90 * time.Second})
	}
	return list
}

// loseBalancers kills the third, reloads the fourth and stops the fifth balancer.
func loseBalancers(w *drainWait) {
	killed, reloaded, hanging := w.balancers[2], w.balancers[3], w.balancers[4]
	killed.lost, hanging.lost = true, true
	killed.Kill()
	reloaded.Reload(w.Expand(reloaded.config)) // forgets the state of the master, and assumes UP
	if err := syscall.Kill(-hanging.Pid(), syscall.SIGSTOP); err != nil {
		w.t.Error(err)
	}
}

// testDrainWait drains a real master with catalogs in flight.
func testDrainWait(t *testing.T, s *lab.PuppetServer) {
	s.SetSitePP(`node /^sleep(\d+)/ { notice(generate("/bin/sleep", "$1")) } node default {}`)
	for _, c := range waitCases() {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func (c waitCase) test(t *testing.T, s *lab.PuppetServer) {
	yaml := "balancers: [" + balancerSource + "]\n"
	w := &drainWait{Site: lab.StartSite(t, lab.SiteOptions{Server: s, YAML: yaml}), t: t, runs: runs{t: t}}
	w.agent = newAgent(t, fmt.Sprintf("sleep%d", int(c.catalog.Seconds())), s)
	for _, asks := range []string{asksGraceful, asksClassic} {
		b := w.start(asks)
		w.runs.start(w.agent, b.address)
		b.waitForSession()
	}
	if c.before != nil {
		c.before(w)
	}
	began := time.Now()
	returned := make(chan time.Time, 1)
	go func() {
		out, status := w.Run("drain", "--force", "--wait=4m") // each balancer has only one server
		if status != 0 {
			t.Errorf("exit status of drain --wait %d, want 0:\n%s", status, out)
		}
		returned <- time.Now()
	}()
	w.WaitRefusal("drain", 10*time.Second)
	if c.during != nil {
		c.during(w)
	}
	w.runs.group.Wait()
	w.assertReturned(began, <-returned)
}

// assertReturned asserts that the wait ended soon after the last run and not before it,
// and that no balancer that still asks sends agents.
func (w *drainWait) assertReturned(began, returned time.Time) {
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
	if late := lab.Between(idle, returned); late > waitAccuracy+4*slack { // four looks
		w.t.Errorf("returned %v after the master was idle, want %v at most", late, waitAccuracy)
	}
	for i, b := range w.balancers {
		if b.lost {
			continue
		}
		if status := b.Stat("puppet", "m1").Status; strings.HasPrefix(status, "UP") {
			w.t.Errorf("lb%d still has the master %s", i+1, status)
		}
	}
}

// waitForSession waits until an agent's session is open.
func (b *waitBalancer) waitForSession() {
	b.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Sessions > 0 }, 20*time.Second)
}

// TestWaitNeedsNoCountFromADeadMaster: a master that refuses connections has no requests
// in flight, so a missing count of its JRubies does not matter.
func TestWaitNeedsNoCountFromADeadMaster(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	r.WaitStatus(10*time.Second, func(s lab.Status) error {
		if lab.Finding(s, check.CheckJRuby).Pool == nil {
			return errors.New("the JRubies have not been counted")
		}
		return nil
	})
	r.SetMaster(checktest.Stopped)
	r.WaitRefusal("unhealthy: refused", 5*time.Second)
	r.MustRun("drain", "--wait=30s") // for 10 s, it waits for a balancer that has asked before
}

// TestWaitLastsWhileAConnectionIsInUse: drain --wait waits for connections to the port in
// puppet.conf.
func TestWaitLastsWhileAConnectionIsInUse(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	c, err := net.Dial("tcp", r.MasterAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte{22}); err != nil { // the first byte of TLS; Idle counts from the last byte
		t.Fatal(err)
	}
	out, err := r.Command("drain", "--wait=2s").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 6 ||
		!strings.Contains(string(out), "1 connection in use, from 127.0.0.1") {
		t.Errorf("%v, want exit status 6 for the connection:\n%s", err, out)
	}
}
