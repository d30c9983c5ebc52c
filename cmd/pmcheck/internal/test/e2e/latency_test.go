//go:build linux

package e2e_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// noticeRefused is the delay until pmcheck answers 503 for a master whose kept connection
// has ended and whose port refuses, on a machine with an idle CPU.
const noticeRefused = 10 * time.Millisecond

// TestKillIsNoticedWithoutAProbe kills a simulated master repeatedly, each time right
// after a probe has found it healthy. The next probe would be later than the bound, so
// pmcheck must notice that the kept connection ends.
func TestKillIsNoticedWithoutAProbe(t *testing.T) {
	lab.Real(t)
	const repetitions = 200
	r := lab.StartSite(t, lab.SiteOptions{YAML: "probe: {interval: 150ms, timeout: 140ms}\n"})

	took := make([]time.Duration, repetitions)
	for i := range took {
		watch, killed := r.StartStopwatch(), time.Now()
		r.SetMaster(checktest.Stopped)
		r.WaitAnswer(http.StatusServiceUnavailable, "", 5*time.Second)
		took[i] = watch.Took(killed, time.Now())
		r.SetMaster(checktest.Running)
		r.WaitServing(5 * time.Second)
	}
	slices.Sort(took)
	measured(t, "socket closed to 503, p50 of 200", took[repetitions/2])
	assertWithin(t, "socket closed to 503, p99 of 200", took[repetitions*99/100], noticeRefused)
	measured(t, "socket closed to 503, slowest of 200", took[repetitions-1])
}

// TestKilledJVMIsNoticedWithoutAProbe does the same to a real master, with the default
// intervals. The delay counts from the moment at which the port refuses: the kernel first
// frees the memory of a killed JVM, then ends its connections one after another, and may
// close the listener 15 ms after the first of them.
func TestKilledJVMIsNoticedWithoutAProbe(t *testing.T) {
	lab.Real(t)
	if !long() {
		t.Skip("takes twelve minutes; run with PMCHECK_LONG=1")
	}
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{})
	s.WaitReady(2 * time.Minute)
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	took := make([]time.Duration, 20)
	for i := range took {
		s.WaitReady(2 * time.Minute)
		r.WaitServing(time.Minute)
		watch := r.StartStopwatch()
		s.Signal(syscall.SIGKILL)
		closed := waitRefused(t, s.Address())
		r.WaitAnswer(http.StatusServiceUnavailable, "", 5*time.Second)
		took[i] = watch.Took(closed, time.Now())
		s.Kill() // waits until the process is gone
		s.Start()
	}
	slices.Sort(took)
	measured(t, "socket of a JVM closed to 503, p50 of 20", took[len(took)/2])
	assertWithin(t, "socket of a JVM closed to 503, slowest of 20", took[len(took)-1], noticeRefused)
}

// waitRefused returns when an address refuses connections. It keeps a connection until the
// peer ends it, and then tries another one.
func waitRefused(t *testing.T, address string) time.Time {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", address)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return time.Now()
		case err != nil:
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		conn.Close()
	}
}
