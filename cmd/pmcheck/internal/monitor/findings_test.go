package monitor

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// The finding for a unit ends when systemd reports another state, or no unit.
func TestNewUnitStateReplacesTheFinding(t *testing.T) {
	for _, test := range []struct {
		name string
		next systemd.UnitState
		want check.Reason // empty: no finding
	}{
		{"active again", systemd.UnitState{Unit: "puppetserver.service", Active: "active"}, check.OK},
		{"inactive", systemd.UnitState{Unit: "puppetserver.service", Active: "inactive"}, check.UnitStopped},
		{"failed", systemd.UnitState{Unit: "puppetserver.service", Active: "failed"}, check.UnitFailed},
		{"gone", systemd.UnitState{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			f := newFindings()
			f.configure(config.Default().Checks, nil)
			f.unit(systemd.UnitState{Unit: "puppetserver.service", Active: "deactivating"}, now)
			if got := f.latest[check.CheckUnit].Reason; got != check.UnitStopping {
				t.Fatalf("while the unit stops: %q, want %q", got, check.UnitStopping)
			}
			f.unit(test.next, now.Add(time.Second))
			if got := f.latest[check.CheckUnit].Reason; got != test.want {
				t.Errorf("afterwards: %q, want %q", got, test.want)
			}
		})
	}
}

// Before PuppetDB has answered, its path exists and a balancer gets unknown.
func TestPuppetDBIsAServiceFromTheStart(t *testing.T) {
	f := newFindings()
	checks := config.Default().Checks
	f.configure(checks, nil)
	if _, asked := f.puppetdb(time.Now()); asked {
		t.Error("PuppetDB is a service although its check does not run")
	}
	f.configure(checks, map[string]time.Duration{check.CheckPuppetDB: time.Minute})
	db, asked := f.puppetdb(time.Now())
	if !asked || db.Verdict.Health != check.Unknown || db.Verdict.Reason != check.NotProbed {
		t.Errorf("before the first answer: asked %v, %s: %s; want unknown: not-probed",
			asked, db.Verdict.Health, db.Verdict.Reason)
	}
}

func TestFindingsOfACheckThatNoLongerRunsAreForgotten(t *testing.T) {
	f := newFindings()
	checks := config.Default().Checks
	f.configure(checks, map[string]time.Duration{check.CheckPuppetDB: time.Minute, check.CheckDisk: time.Minute})
	now := time.Now()
	f.take(check.Finding{Check: check.CheckPuppetDB, State: check.StateOK, Checked: now}, now)
	f.take(check.Finding{Check: check.CheckDisk, State: check.StateOK, Checked: now}, now)
	f.configure(checks, map[string]time.Duration{check.CheckDisk: time.Minute})
	if list := f.list(now); len(list) != 1 || list[0].Check != check.CheckDisk {
		t.Errorf("findings %+v, want that of the disk only", list)
	}
}

func TestPoolIsNotShownForAMasterWithoutOne(t *testing.T) {
	f := newFindings()
	absent := func() check.Observer {
		return func(check.Result, time.Time) check.Finding {
			return check.Finding{Check: check.CheckJRuby, State: check.StateNone, Absent: true}
		}
	}
	f.configure(check.List{{Name: check.CheckJRuby, Severity: check.Eject, Observe: absent}}, nil)
	f.observe(check.Result{}, time.Now())
	if list := f.list(time.Now()); len(list) != 0 {
		t.Errorf("a master without JRubies shows %+v", list)
	}
}

// After a reload of the configuration, a master that is silent is still the one that was stuck.
func TestAReloadForgetsNothingOfASilentMaster(t *testing.T) {
	f := newFindings()
	checks := config.Default().Checks
	f.configure(checks, nil)
	stuck := &check.Pool{Size: 1, Borrowed: []check.Loan{{Seconds: 600}}, Waiting: []check.Loan{{Seconds: 500}}}
	f.observe(check.Result{Pool: stuck}, time.Now())
	f.configure(checks, nil)
	f.observe(check.Result{Fault: &check.Fault{Reason: check.Timeout}}, time.Now())
	if got := f.latest[check.CheckJRuby].Reason; got != check.JRubyStuck {
		t.Errorf("%s, want %s", got, check.JRubyStuck)
	}
}

// Between the time when the last result expires and the next run, such a check would look stuck.
func TestACheckThatRunsInVainIsNotStale(t *testing.T) {
	for _, name := range []string{check.CheckDisk, check.CheckPuppetDB} {
		const interval, limit = 10 * time.Minute, 31 * time.Minute
		f := newFindings()
		f.configure(config.Default().Checks, map[string]time.Duration{name: limit})
		start := time.Now()
		reason := func(after time.Duration) check.Reason {
			now := start.Add(after)
			if db, asked := f.puppetdb(now); asked {
				return db.Verdict.Reason
			}
			return f.list(now)[0].Reason
		}
		f.take(check.Finding{Check: name, State: check.StateOK, Reason: check.OK, Checked: start}, start)
		for at := interval; at <= 3*interval; at += interval {
			vain := check.Finding{Check: name, State: check.StateNone, Reason: check.NotKnown, Checked: start.Add(at)}
			f.take(vain, vain.Checked)
		}
		for after, want := range map[time.Duration]check.Reason{
			limit - 1:            check.OK,
			limit:                check.NotKnown,
			3*interval + limit:   check.Stale, // it has not run since
			3*interval + limit*2: check.Stale,
		} {
			if got := reason(after); got != want {
				t.Errorf("%s: %s after the last result, which the next runs could not renew: %s, want %s", name, after, got, want)
			}
		}
	}
}
