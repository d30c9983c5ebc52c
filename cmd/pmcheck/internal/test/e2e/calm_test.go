//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestCalmMasterIsLeftAlone: while nothing is wrong, only the pool is read, and the
// connection is kept. Whatever happens is noticed nevertheless.
func TestCalmMasterIsLeftAlone(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const (
		interval, timeout = 400 * time.Millisecond, 300 * time.Millisecond
		reading           = time.Second
		handshake         = time.Second
	)
	r := lab.StartSite(t, lab.SiteOptions{YAML: fmt.Sprintf(
		"probe: {interval: %s, timeout: %s, handshake: %s}\njruby: {interval: %s}\nheap: {interval: 10m}\n",
		interval, timeout, handshake, reading)})
	// calm waits until a second goes by with no more than what a calm master is asked. Without
	// calm there is at least one handshake in each second.
	calm := func() {
		t.Helper()
		lab.WaitFor(t, 20*time.Second, 0, func() error {
			handshakes, asked := r.Master.Handshakes(), r.Master.Questions()
			lab.Pause(t, 1500*time.Millisecond)
			handshakes, asked = r.Master.Handshakes()-handshakes, r.Master.Questions()-asked
			if handshakes > 0 || asked > 2 {
				return fmt.Errorf("%d handshakes and %d questions in 1.5 s", handshakes, asked)
			}
			return nil
		})
	}
	noticed := reading + 2*timeout + slack
	for _, state := range []checktest.State{checktest.Silent, checktest.Stopped, checktest.Error, checktest.Garbage} {
		calm()
		watch, changed := r.StartStopwatch(), time.Now()
		r.SetMaster(state)
		r.WaitAnswer(http.StatusServiceUnavailable, "", 20*time.Second)
		assertWithin(t, "calm, then "+string(state), watch.Took(changed, time.Now()), noticed)
		r.SetMaster(checktest.Running)
		r.WaitServing(5 * time.Second)
	}
	calm()
	handshakes := r.Master.Handshakes()
	if err := r.Master.WriteFiles(); err != nil {
		t.Fatal(err)
	}
	lab.WaitFor(t, 5*time.Second, 0, func() error {
		if r.Master.Handshakes() == handshakes {
			return fmt.Errorf("no handshake since the CRL on disk has changed")
		}
		return nil
	})
	r.WaitServing(time.Second)
}
