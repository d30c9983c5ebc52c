package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

func TestFoldTakesTheWorseHealth(t *testing.T) {
	const (
		none      = check.Health("")
		healthy   = check.Healthy
		busy      = check.Busy
		warming   = check.Warming
		unhealthy = check.Unhealthy
		unknown   = check.Unknown
	)
	// Each row has the health of the probe and of a finding with the severity eject,
	// and the health of the verdict: want if any other check made the finding, wantUnit
	// if the check unit made it.
	tests := []struct {
		probe, finding, want, wantUnit check.Health
	}{
		{healthy, none, healthy, healthy},
		{healthy, healthy, healthy, healthy},
		{healthy, busy, busy, busy},
		{healthy, warming, warming, warming},
		{healthy, unhealthy, unhealthy, unhealthy},
		{healthy, unknown, unknown, unknown},

		{busy, none, busy, busy},
		{busy, healthy, busy, busy},
		{busy, busy, busy, busy},
		{busy, warming, warming, warming},
		{busy, unhealthy, unhealthy, unhealthy},
		{busy, unknown, unknown, unknown},

		{warming, none, warming, warming},
		{warming, healthy, warming, warming},
		{warming, busy, warming, warming},
		{warming, warming, warming, warming},
		{warming, unhealthy, warming, unhealthy},
		{warming, unknown, warming, unknown},

		{unhealthy, none, unhealthy, unhealthy},
		{unhealthy, healthy, unhealthy, unhealthy},
		{unhealthy, busy, unhealthy, unhealthy},
		{unhealthy, warming, unhealthy, warming},
		{unhealthy, unhealthy, unhealthy, unhealthy},
		{unhealthy, unknown, unhealthy, unknown},

		{unknown, none, unknown, unknown},
		{unknown, healthy, unknown, unknown},
		{unknown, busy, unknown, unknown},
		{unknown, warming, unknown, warming},
		{unknown, unhealthy, unknown, unhealthy},
		{unknown, unknown, unknown, unknown},
	}
	for _, tt := range tests {
		for name, want := range map[string]check.Health{check.CheckDisk: tt.want, check.CheckUnit: tt.wantUnit} {
			t.Run(string(tt.probe)+" and "+name+" "+string(tt.finding), func(t *testing.T) {
				probe := check.Verdict{Health: tt.probe, Reason: "of-the-probe"}
				finding := check.Finding{Check: name, Severity: check.Eject, Health: tt.finding, Reason: "of-the-finding"}
				if got := check.Fold(probe, []check.Finding{finding}).Health; got != want {
					t.Errorf("eject: %q, want %q", got, want)
				}
				for _, severity := range []check.Severity{check.Warn, check.Off, ""} {
					finding.Severity = severity
					if got := check.Fold(probe, []check.Finding{finding}); got != probe {
						t.Errorf("severity %q: %+v, want the probe's verdict", severity, got)
					}
				}
			})
		}
	}
}

func TestFoldTakesTheWorstOfSeveral(t *testing.T) {
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
	stopped.State = check.StateNone
	tests := []struct {
		name     string
		probe    check.Health
		findings []check.Finding
		want     check.Reason
	}{
		{"none", check.Healthy, nil, "of-the-probe"},
		{"the worst is last", check.Healthy, []check.Finding{busy, warming, full}, check.DiskFull},
		{"the worst is first", check.Healthy, []check.Finding{full, warming, busy}, check.DiskFull},
		{"the first of equals", check.Healthy, []check.Finding{down, full}, check.PuppetDBDown},
		{"a stop is worse than warming", check.Healthy, []check.Finding{warming, stop}, check.UnitStopping},
		{"full is worse than a start", check.Healthy, []check.Finding{start, full}, check.DiskFull},
		{"only the unit explains", check.Unhealthy, []check.Finding{full, start, down}, check.UnitStarting},
		{"a stopped unit explains", check.Unhealthy, []check.Finding{stopped}, check.UnitStopped},
		{"the master is run by other means", check.Healthy, []check.Finding{stopped}, "of-the-probe"},
		{"nothing explains", check.Unhealthy, []check.Finding{full, down}, "of-the-probe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			probe := check.Verdict{Health: tt.probe, Reason: "of-the-probe", Since: at.Add(-time.Hour),
				Checked: at.Add(-time.Second), Expires: at.Add(time.Second)}
			want := probe
			for _, f := range tt.findings {
				if f.Reason == tt.want {
					want.Health, want.Reason, want.Detail, want.Since = f.Health, f.Reason, f.Detail, f.Checked
				}
			}
			if diff := cmp.Diff(want, check.Fold(probe, tt.findings)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUnitsWithoutASuffixAreServices(t *testing.T) {
	s := check.UnitSettings{Names: []string{"puppetserver", "puppet@a.service", "docker-puppet.scope"}}
	want := []string{"puppetserver.service", "puppet@a.service", "docker-puppet.scope"}
	if got := s.Units(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnitStateDeterminesHealth(t *testing.T) {
	tests := []struct {
		state  string
		want   check.State
		health check.Health
		reason check.Reason
	}{
		{"active", check.StateOK, "", check.OK},
		{"reloading", check.StateBad, check.Warming, check.UnitReloading},
		{"refreshing", check.StateBad, check.Warming, check.UnitReloading},
		{"activating", check.StateBad, check.Warming, check.UnitStarting},
		{"deactivating", check.StateBad, check.Unhealthy, check.UnitStopping},
		{"failed", check.StateBad, check.Unhealthy, check.UnitFailed},
		{"inactive", check.StateNone, check.Unhealthy, check.UnitStopped},
		{"maintenance", check.StateNone, "", check.NotKnown},
		{"", check.StateNone, "", check.NotKnown},
	}
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range tests {
		t.Run(tt.state, func(t *testing.T) {
			got := check.Unit("puppetserver.service", tt.state, "", since)
			if got.State != tt.want || got.Health != tt.health || got.Reason != tt.reason {
				t.Errorf("%s, %q, %s; want %s, %q, %s", got.State, got.Health, got.Reason, tt.want, tt.health, tt.reason)
			}
			if got.Check != check.CheckUnit || !got.Checked.Equal(since) || (got.Health != "") != (got.Detail != "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestUnitSaysHowTheServerDied(t *testing.T) {
	const ended = "was killed by signal 9 at 15:04:05"
	tests := []struct {
		state  string
		health check.Health
		reason check.Reason
		detail string
	}{
		{"activating", check.Warming, check.UnitCrashed,
			"puppetserver.service was killed by signal 9 at 15:04:05; systemd starts it again"},
		{"failed", check.Unhealthy, check.UnitFailed,
			"puppetserver.service was killed by signal 9 at 15:04:05: see journalctl -u puppetserver.service"},
		{"active", "", check.OK, ""},
	}
	for _, tt := range tests {
		got := check.Unit("puppetserver.service", tt.state, ended, time.Now())
		if got.Health != tt.health || got.Reason != tt.reason || got.Detail != tt.detail {
			t.Errorf("%s: %q, %s, %q", tt.state, got.Health, got.Reason, got.Detail)
		}
	}
}
