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
// connection is kept; a third as often while no agent is connected. Whatever happens is
// noticed nevertheless, and while an agent is connected as soon as ever.
func TestCalmMasterIsLeftAlone(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const (
		interval, timeout = 400 * time.Millisecond, 300 * time.Millisecond
		reading           = time.Second
		handshake         = time.Second
	)
	r := lab.StartSite(t, lab.SiteOptions{YAML: fmt.Sprintf(
		"probe: {interval: %s, timeout: %s, handshake: %s}\njruby: {interval: %s}\n",
		interval, timeout, handshake, reading)})
	// calm waits for three readings' time without a handshake, in which the master is asked at
	// least and at most so often. Without calm there is at least one handshake in each second.
	calm := func(least, most int64) {
		t.Helper()
		lab.WaitFor(t, 30*time.Second, 0, func() error {
			handshakes, asked := r.Master.Handshakes(), r.Master.Questions()
			lab.Pause(t, 3*reading+reading/2)
			handshakes, asked = r.Master.Handshakes()-handshakes, r.Master.Questions()-asked
			if handshakes > 0 || asked < least || asked > most {
				return fmt.Errorf("%d handshakes and %d questions in the time of three readings", handshakes, asked)
			}
			return nil
		})
	}
	unused := func() { t.Helper(); calm(1, 2) }
	used := func() {
		t.Helper()
		startSession(t, r.Master.Address())
		calm(3, 4)
	}
	for _, state := range []checktest.State{checktest.Silent, checktest.Stopped, checktest.Error, checktest.Garbage} {
		for _, when := range []struct {
			name   string
			calm   func()
			within time.Duration
		}{
			{"an agent is connected", used, reading + 2*timeout + slack},
			{"no agent is connected", unused, 3*reading + 2*timeout + slack},
		} {
			when.calm()
			watch, changed := r.StartStopwatch(), time.Now()
			r.SetMaster(state)
			r.WaitAnswer(http.StatusServiceUnavailable, "", 20*time.Second)
			assertWithin(t, fmt.Sprintf("%s, then %s", when.name, state), watch.Took(changed, time.Now()), when.within)
			r.SetMaster(checktest.Stopped) // ends all connections
			r.SetMaster(checktest.Running)
			r.WaitServing(5 * time.Second)
		}
	}
	unused()
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
