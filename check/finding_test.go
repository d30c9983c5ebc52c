package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

// TestBeforeTheFirstProbe: a unit that is not known to be the master's, as beside a container, says nothing of it.
func TestBeforeTheFirstProbe(t *testing.T) {
	stopped := check.Finding{
		Check:    check.CheckUnit,
		Severity: check.Eject,
		Health:   check.Unhealthy,
		Reason:   check.UnitStopped,
	}
	for state, want := range map[check.State]check.Reason{
		check.StateNone: check.NotProbed,
		check.StateBad:  check.UnitStopped,
	} {
		stopped.State = state
		got := check.Fold(check.Verdict{Health: check.Unknown, Reason: check.NotProbed}, []check.Finding{stopped})
		if got.Reason != want {
			t.Errorf("%s: %s, want %s", state, got.Reason, want)
		}
	}
}

func TestFoldTakesTheWorst(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	find := func(name string, h check.Health, r check.Reason) check.Finding {
		return check.Finding{Check: name, Severity: check.Eject, State: check.StateBad, Health: h, Reason: r,
			Detail: string(r) + " in words", Checked: at}
	}
	var (
		busy    = find(check.CheckJRuby, check.Busy, check.JRubyBusy)
		warming = find(check.CheckJRuby, check.Warming, check.JRubyWarming)
		full    = find(check.CheckDisk, check.Unhealthy, check.DiskFull)
		down    = find(check.CheckPuppetDB, check.Unhealthy, check.PuppetDBDown)
		stop    = find(check.CheckUnit, check.Unhealthy, check.UnitStopping)
		start   = find(check.CheckUnit, check.Warming, check.UnitStarting)
		stopped = find(check.CheckUnit, check.Unhealthy, check.UnitStopped)
	)
	busyUnit := find(check.CheckUnit, check.Busy, check.UnitReloading)
	shared, off, quiet := down, full, full
	stopped.State, shared.Severity, off.Severity, quiet.Health = check.StateNone, check.Warn, check.Off, ""
	for _, tt := range []struct {
		name     string
		probe    check.Health
		findings []check.Finding
		want     check.Reason
	}{
		{"the worst is last", check.Healthy, []check.Finding{busy, warming, full}, check.DiskFull},
		{"nothing is worse", check.Busy, []check.Finding{busy}, "of-the-probe"},
		{"one that may not eject, and one that finds no trouble", check.Healthy, []check.Finding{shared, off, quiet},
			"of-the-probe"},
		{"the first of equals", check.Healthy, []check.Finding{down, full}, check.PuppetDBDown},
		{"a stop is worse than warming", check.Healthy, []check.Finding{warming, stop}, check.UnitStopping},
		{"only the unit explains", check.Unhealthy, []check.Finding{full, start, down}, check.UnitStarting},
		{"a stopped unit explains", check.Unhealthy, []check.Finding{stopped}, check.UnitStopped},
		{"the master is run by other means", check.Healthy, []check.Finding{stopped}, "of-the-probe"},
		{"a unit that serves does not explain", check.Unhealthy, []check.Finding{busyUnit}, "of-the-probe"},
		{"nothing is known, and the unit explains", check.Unknown, []check.Finding{full, stop}, check.UnitStopping},
		{"nothing explains", check.Unhealthy, []check.Finding{full, down}, "of-the-probe"},
	} {
		probe := check.Verdict{Health: tt.probe, Reason: "of-the-probe", Since: at.Add(-time.Hour),
			Checked: at.Add(-time.Second), Expires: at.Add(time.Second)}
		want := probe
		for _, f := range tt.findings {
			if f.Reason == tt.want {
				want.Health, want.Reason, want.Detail = f.Health, f.Reason, f.Detail
			}
		}
		if diff := cmp.Diff(want, check.Fold(probe, tt.findings)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestUnitStateDeterminesHealth(t *testing.T) {
	const ended = "was killed by signal 9 at 15:04:05"
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		state, ended string
		another      bool
		want         check.State
		health       check.Health
		reason       check.Reason
		detail       string // a part of it
	}{
		{"active", "", false, check.StateOK, "", check.OK, ""},
		{"active", ended, false, check.StateOK, "", check.OK, ""},
		{"reloading", "", false, check.StateBad, check.Warming, check.UnitReloading, "a.service is reloading"},
		{"activating", "", false, check.StateBad, check.Warming, check.UnitStarting, "a.service is starting"},
		{"activating", ended, false, check.StateBad, check.Warming, check.UnitCrashed,
			"a.service " + ended + "; systemd starts it"},
		{"deactivating", "", false, check.StateBad, check.Unhealthy, check.UnitStopping, "a.service is stopping"},
		{"failed", "", false, check.StateBad, check.Unhealthy, check.UnitFailed, "a.service has failed"},
		{"failed", ended, false, check.StateBad, check.Unhealthy, check.UnitFailed, ended + ": see journalctl -u a.service"},
		{"inactive", "", false, check.StateNone, check.Unhealthy, check.UnitStopped, "a.service"},
		{"inactive", "", true, check.StateBad, check.Unhealthy, check.UnitStopped, "anything that answers is not its"},
		{"active", "", true, check.StateOK, "", check.OK, ""},
		{"", "", false, check.StateNone, "", check.NotKnown, ""},
	} {
		got := check.Unit("a.service", tt.state, tt.ended, tt.another, since)
		if got.State != tt.want || got.Health != tt.health || got.Reason != tt.reason ||
			!strings.Contains(got.Detail, tt.detail) || (tt.detail == "") != (got.Detail == "") {
			t.Errorf("%s: %+v; want %s, %q, %s, %q", tt.state, got, tt.want, tt.health, tt.reason, tt.detail)
		}
		if got.Check != check.CheckUnit || !got.Checked.Equal(since) {
			t.Errorf("%+v", got)
		}
	}
}
