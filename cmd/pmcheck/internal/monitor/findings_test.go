package monitor

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// configured returns the findings of the default checks, of which those that are named run every
// ten minutes, for a minute at most.
func configured(names ...string) findings {
	f := findings{latest: map[string]check.Finding{}}
	f.configure(config.Default(), nil)
	clear(f.scheduled)
	for _, name := range names {
		f.scheduled[name] = &check.Scheduled{Interval: 10 * time.Minute, Timeout: time.Minute}
	}
	return f
}

func TestNewUnitStateReplacesTheFinding(t *testing.T) {
	f, now := configured(), time.Now()
	for _, step := range []struct {
		unit, active string
		want         check.Reason // empty: no finding
	}{
		{"puppetserver.service", "deactivating", check.UnitStopping},
		{"puppetserver.service", "inactive", check.UnitStopped},
		{"puppetserver.service", "active", check.OK},
		{"", "", ""},
	} {
		now = now.Add(time.Second)
		f.unit(systemd.UnitState{Unit: step.unit, Active: step.active}, false, now)
		if got := f.latest[check.CheckUnit].Reason; got != step.want {
			t.Errorf("%s: %q, want %q", step.active, got, step.want)
		}
	}
}

// Before PuppetDB has answered, its path exists and a balancer gets unknown.
func TestPuppetDBIsAServiceFromTheStart(t *testing.T) {
	none, one := configured(), configured(check.CheckPuppetDB)
	if _, asked := none.puppetdb(time.Now()); asked {
		t.Error("PuppetDB is a service although its check does not run")
	}
	db, asked := one.puppetdb(time.Now())
	if !asked || db.Verdict.Health != check.Unknown || db.Verdict.Reason != check.NotProbed {
		t.Errorf("before the first answer: asked %v, %s: %s; want unknown: not-probed",
			asked, db.Verdict.Health, db.Verdict.Reason)
	}
}

func TestFindingsOfACheckThatNoLongerRunsAreForgotten(t *testing.T) {
	f, now := configured(check.CheckPuppetDB, check.CheckDisk), time.Now()
	f.take(check.Finding{Check: check.CheckPuppetDB, State: check.StateOK, Checked: now}, now)
	f.take(check.Finding{Check: check.CheckDisk, State: check.StateOK, Checked: now}, now)
	f.configure(config.Default(), nil) // the disk alone
	if list := f.list(now); len(list) != 1 || list[0].Check != check.CheckDisk {
		t.Errorf("findings %+v, want that of the disk only", list)
	}
}

// After a reload of the configuration, a master that is silent is still the one that was stuck.
func TestAReloadForgetsNothingOfASilentMaster(t *testing.T) {
	f := configured()
	stuck := &check.Pool{Size: 1, Borrowed: []check.Loan{{Seconds: 600}}, Waiting: []check.Loan{{Seconds: 500}}}
	f.observe(check.Result{Pool: stuck}, time.Now())
	f.configure(config.Default(), nil)
	f.observe(check.Result{Fault: &check.Fault{Reason: puppetclient.Timeout}}, time.Now())
	if got := f.latest[check.CheckJRuby].Reason; got != check.JRubyStuck {
		t.Errorf("%s, want %s", got, check.JRubyStuck)
	}
}

// A JRuby that is replaced is no start: the pool was complete. Another master is another pool.
func TestAReloadForgetsNoPoolThatWasComplete(t *testing.T) {
	another, patient := config.Default(), config.Default()
	another.Probe.Address = "192.0.2.1:8140"
	jruby := patient.Checks.JRuby()
	jruby.WarmingMax = time.Hour
	patient.Checks = patient.Checks.With(jruby)
	for _, tt := range []struct {
		name string
		next config.Config
		want check.Reason
	}{
		{"the same configuration", config.Default(), check.OK},
		{"another setting", patient, check.OK},
		{"another master", another, check.JRubyWarming},
	} {
		f, now := configured(), time.Now()
		deployed := now.Add(-time.Minute) // code, which locks the pool
		f.observe(check.Result{Pool: &check.Pool{Size: 4, Free: 4, LockSince: deployed}}, now)
		f.configure(tt.next, nil)
		f.observe(check.Result{Pool: &check.Pool{Size: 4, Free: 3, LockSince: deployed}}, now)
		if got := f.latest[check.CheckJRuby]; got.Reason != tt.want {
			t.Errorf("%s: %s, %s; want %s", tt.name, got.Reason, got.Detail, tt.want)
		}
	}
}

// What was found out counts for three intervals, though later runs find nothing out.
func TestAFindingIsKeptWhileItIsFresh(t *testing.T) {
	f, start := configured(check.CheckDisk), time.Now()
	vain := check.Finding{Check: check.CheckDisk, State: check.StateNone, Reason: check.NotKnown}
	f.take(check.Finding{Check: check.CheckDisk, State: check.StateBad, Reason: check.DiskFull, Checked: start}, start)
	for _, step := range []struct {
		at   time.Duration
		run  bool
		want check.Reason
	}{
		{10 * time.Minute, true, check.DiskFull},
		{30 * time.Minute, true, check.DiskFull},
		{31*time.Minute - 1, false, check.DiskFull},
		{31 * time.Minute, false, check.Stale},
		{40 * time.Minute, true, check.NotKnown},
		{71 * time.Minute, false, check.Stale}, // it has not run since
	} {
		now := start.Add(step.at)
		if vain.Checked = now; step.run {
			f.take(vain, now)
		}
		if got := f.list(now)[0].Reason; got != step.want {
			t.Errorf("after %s: %s, want %s", step.at, got, step.want)
		}
	}
}
