//go:build linux

package lab_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestStopwatchCountsTheTimeOfAFrozenDaemon: only the time of runnable threads is
// subtracted, and those of a daemon that is stopped with SIGSTOP are not runnable.
func TestStopwatchCountsTheTimeOfAFrozenDaemon(t *testing.T) {
	lab.Real(t)
	s := lab.StartSite(t, lab.SiteOptions{})
	watch, began := s.StartStopwatch(), time.Now()
	s.Signal(syscall.SIGSTOP)
	lab.Pause(t, 200*time.Millisecond)
	s.Signal(syscall.SIGCONT)
	s.WaitServing(10 * time.Second)
	ended := time.Now()
	if took := watch.Took(began, ended); took < 100*time.Millisecond || took > ended.Sub(began) {
		t.Errorf("frozen for 200 ms of %v, but Took returns %v", ended.Sub(began), took)
	}
}
