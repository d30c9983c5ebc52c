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

// How often the masters of the tests below are asked.
const (
	calmInterval, calmTimeout = 400 * time.Millisecond, 300 * time.Millisecond
	calmReading               = time.Second
)

// calmSite is a site whose master is left alone while nothing is wrong.
type calmSite struct{ *lab.Site }

func startCalm(t *testing.T) calmSite {
	t.Helper()
	return calmSite{lab.StartSite(t, lab.SiteOptions{YAML: fmt.Sprintf(
		"probe: {interval: %s, timeout: %s}\njruby: {interval: %s}\n", calmInterval, calmTimeout, calmReading)})}
}

// wait waits for three readings' time without a probe, in which the master is asked at least and at
// most so often, over the same connection. Calm begins with a handshake 30 s after the last event.
func (r calmSite) wait(t *testing.T, least, most int64) {
	t.Helper()
	lab.WaitFor(t, time.Minute, 0, func() error {
		handshakes, asked := r.Master.Handshakes(), r.Master.Questions()
		lab.Pause(t, 3*calmReading+calmReading/2)
		handshakes, asked = r.Master.Handshakes()-handshakes, r.Master.Questions()-asked
		if handshakes > 0 || asked < least || asked > most {
			return fmt.Errorf("%d handshakes and %d questions in the time of three readings", handshakes, asked)
		}
		return nil
	})
}

func (r calmSite) waitUnused(t *testing.T) { r.wait(t, 1, 2) }

func (r calmSite) waitUsed(t *testing.T) {
	startSession(t, r.Master.Address())
	r.wait(t, 3, 4)
}

// TestCalmMasterIsLeftAlone: while nothing is wrong, only the pool is read, and the
// connection is kept; a third as often while no agent is connected. Whatever happens is
// noticed nevertheless, and while an agent is connected as soon as ever.
func TestCalmMasterIsLeftAlone(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	for _, state := range []checktest.State{checktest.Silent, checktest.Stopped, checktest.Error, checktest.Garbage} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			r := startCalm(t)
			for _, when := range []struct {
				name   string
				calm   func(*testing.T)
				within time.Duration
			}{
				{"an agent is connected", r.waitUsed, calmReading + 2*calmTimeout + slack},
				{"no agent is connected", r.waitUnused, 3*calmReading + 2*calmTimeout + slack},
			} {
				when.calm(t)
				watch, changed := r.StartStopwatch(), time.Now()
				r.SetMaster(state)
				r.WaitAnswer(http.StatusServiceUnavailable, "", 20*time.Second)
				assertWithin(t, fmt.Sprintf("%s, then %s", when.name, state), watch.Took(changed, time.Now()), when.within)
				r.SetMaster(checktest.Stopped) // ends all connections
				r.SetMaster(checktest.Running)
				r.WaitServing(5 * time.Second)
			}
		})
	}
	t.Run("a new CRL", func(t *testing.T) {
		t.Parallel()
		r := startCalm(t)
		r.waitUnused(t)
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
	})
}
