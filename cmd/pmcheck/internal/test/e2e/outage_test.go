package e2e_test

import (
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// noticeKilled is the documented delay until pmcheck notices that the sockets of the
// master have closed.
const noticeKilled = 100 * time.Millisecond

// testLines: a drained master is DOWN on every line of HAProxy but the one with disable-on-404, which shows NOLB. The
// death of the JVM is noticed at once, by pmcheck and then by every line, and so is its return.
func testLines(t *testing.T, s *lab.PuppetServer, _ *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	all := lines()
	b := startBalancer(t, all, r)
	r.Hold(drain.Drain)
	assertWithin(t, "hold written to 503 drain", r.WaitRefusal("drain", 5*time.Second), time.Second)
	b.WaitEach(15*time.Second, func(s lab.ServerStat) bool {
		if s.Backend == "disable-on-404" {
			return s.Status == "NOLB" && s.CheckCode == "404"
		}
		return s.Status == "DOWN"
	})
	r.Hold(drain.Ready)
	waitForStatus(b, "UP", time.Now(), 15*time.Second)

	closed := closing(t, s.Address())
	lab.Must(t, syscall.Kill(s.Pid(), syscall.SIGKILL))
	r.WaitAnswer(http.StatusServiceUnavailable, "", 5*time.Second)
	noticed := time.Now()
	// The kernel takes the JVM's memory back before it closes its sockets: that may take longer
	// than all that follows, and is not in the bounds.
	assertWithin(t, "sockets closed to 503", lab.Between(closed(), noticed), noticeKilled+slack)
	down := waitForStatus(b, "DOWN", closed(), 15*time.Second)
	for _, l := range all {
		bound := noticeKilled + time.Duration(l.fall)*l.inter
		assertWithin(t, "sockets closed to DOWN, "+l.name, down[l.name], bound+slack)
	}
	// Until the next probe the reason may be connection-lost: the kernel may still accept a
	// connection when it has ended the kept one, and end that, too.
	r.WaitRefusal("unhealthy: refused", 5*time.Second)
	s.Kill() // waits for the process, which is dead already

	s.Start()
	s.WaitReady(startTime)
	r.WaitServing(3 * time.Minute)
	waitForStatus(b, "UP", time.Now(), 20*time.Second)
}

// closing connects to a server and returns a function that waits until the
// server has closed its sockets, and returns when that was.
func closing(t *testing.T, address string) func() time.Time {
	t.Helper()
	c, err := net.Dial("tcp", address)
	lab.Must(t, err)
	at := make(chan time.Time, 1)
	go func() {
		defer c.Close()
		c.Read(make([]byte, 1)) // ends with the connection: a TLS server does not speak first
		at <- time.Now()
	}()
	return sync.OnceValue(func() time.Time { return <-at })
}

// testPaused: a JVM that collects garbage for most of each second, as one does whose heap is nearly
// full, accepts connections in between, and stays in service.
func testPaused(t *testing.T, s *lab.PuppetServer, _ *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitVerdict("healthy: ok", time.Minute)
	answers := r.Record(50 * time.Millisecond)
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		s.Signal(syscall.SIGSTOP)
		time.Sleep(900 * time.Millisecond)
		s.Signal(syscall.SIGCONT)
		time.Sleep(150 * time.Millisecond)
	}
	answers.Stop().AssertOnly("200 Puppet Server is running.")
	r.WaitVerdict("healthy: ok", time.Minute)
}

// testQuiet: a healthy master that nobody else asks gets one request for each probe.interval.
func testQuiet(t *testing.T, s *lab.PuppetServer, _ *stateTable) {
	const window = 30 * time.Second
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitVerdict("healthy: ok", time.Minute)
	before := s.Requests()
	lab.Pause(t, window)
	got, want := s.Requests()-before, int(window/(5*time.Second))
	if got < want-1 || got > want+1 {
		t.Errorf("%d requests, want %d", got, want)
	}
}
