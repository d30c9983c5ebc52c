//go:build linux

package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// TestRestartsWhileHeldNeverAnswer200: a daemon that starts, stops or is killed never
// answers 200 for a healthy master that is held.
func TestRestartsWhileHeldNeverAnswer200(t *testing.T) {
	lab.Real(t)
	const restarts, each = 50, 20
	r := lab.NewSite(t, lab.SiteOptions{})
	if _, err := r.Holds.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		t.Fatal(err)
	}
	d := r.Record(time.Millisecond)
	r.Start()
	for i := range restarts {
		r.WaitHealthy(10 * time.Second)
		d.WaitMore(each)
		if i%3 == 0 {
			r.Stop(syscall.SIGKILL)
		} else {
			r.Stop(syscall.SIGTERM)
		}
		r.Start()
	}
	d.Stop()

	measured(t, "answers across 50 restarts while held", d.Counts())
	if got := d.Told(); got != "503 drain" {
		t.Errorf("told %s while held, want 503 drain only", got)
	}
	// Nothing but the hold kept the master out.
	if _, err := r.Holds.Lift(drain.Operator, ""); err != nil {
		t.Fatal(err)
	}
	r.WaitServing(10 * time.Second)
}

// TestHoldExpiresAtItsTime: a hold ends at its time and not before, even if the daemon
// was started after it was set.
func TestHoldExpiresAtItsTime(t *testing.T) {
	lab.Real(t)
	for _, test := range []struct {
		name      string
		meanwhile func(*lab.Site)
	}{
		{"served throughout", func(*lab.Site) {}},
		{"restarted meanwhile", func(r *lab.Site) { r.Stop(syscall.SIGTERM); r.Start() }},
		{"killed meanwhile", func(r *lab.Site) { r.Stop(syscall.SIGKILL); r.Start() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := lab.StartSite(t, lab.SiteOptions{})
			var made struct{ Set drain.Hold }
			r.RunJSON(&made, "drain", "--now", "--for", "2500ms", "--json")
			d := r.Record(time.Millisecond)
			test.meanwhile(r)
			r.WaitServing(10 * time.Second)
			d.WaitMore(10) // so that the record has a 200 too
			d.Stop()
			late := lab.Between(made.Set.Until, d.First("200"))
			assertWithin(t, "end of a hold to 200, "+test.name, late, time.Second)
			if d.First("200").Before(made.Set.Until) {
				t.Errorf("200 was told %v before the end of the hold", -late)
			}
			r.WaitLog("hold expired", 5*time.Second)
		})
	}
}
