package monitor

import (
	"maps"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/systemd"
)

// findings collects the latest findings of the checks other than the probe. Only the
// loop uses it.
type findings struct {
	checks    check.List
	observers map[string]check.Observer
	latest    map[string]check.Finding
	vain      map[string]check.Finding // of runs that could not find out, while latest was fresh
	maxAge    map[string]time.Duration // beyond it a finding is stale
}

func newFindings() findings {
	return findings{latest: map[string]check.Finding{}, vain: map[string]check.Finding{}}
}

// configure sets the severities, and the maximum age of the findings of scheduled
// checks. It forgets the findings of checks that no longer run.
func (f *findings) configure(checks check.List, maxAge map[string]time.Duration) {
	maps.DeleteFunc(f.latest, func(name string, _ check.Finding) bool {
		return checks.Severity(name) == check.Off || f.maxAge[name] > 0 && maxAge[name] == 0
	})
	f.checks, f.maxAge, f.observers = checks, maxAge, map[string]check.Observer{}
	for _, c := range checks {
		if c.Observe != nil && c.Severity != check.Off {
			f.observers[c.Name] = c.Observe()
		}
	}
}

// observe records the findings of the checks that look at the result of a probe.
func (f *findings) observe(r check.Result, now time.Time) {
	for _, c := range f.checks {
		observe := f.observers[c.Name]
		if observe == nil {
			continue
		}
		if found := observe(r, now); found.Check != "" {
			f.latest[c.Name] = found
		}
	}
}

// take records a finding. If a check could not find out this time, its last finding is
// kept while it is fresh.
func (f *findings) take(found check.Finding, now time.Time) {
	if f.checks.Severity(found.Check) == check.Off {
		return
	}
	old, known := f.latest[found.Check]
	if found.State == check.StateNone && known && old.State != check.StateNone && f.fresh(old, now) {
		f.vain[found.Check] = found
		return
	}
	f.latest[found.Check] = found
}

// unit records the state that systemd reports; without a unit nothing is known. An
// inactive unit says nothing about the master, and it replaces the finding from the
// time when the unit was stopping.
func (f *findings) unit(u systemd.UnitState, now time.Time) {
	delete(f.latest, check.CheckUnit)
	if u.Unit != "" {
		f.take(check.Unit(u.Unit, u.Active, u.Ended, now), now)
	}
}

func (f *findings) fresh(found check.Finding, now time.Time) bool {
	limit, limited := f.maxAge[found.Check]
	return !limited || now.Sub(found.Checked) < limit
}

// last returns the finding of a check, and whether there is one. If it is too old, but the
// check has run since, that is the finding: the check is not stuck.
func (f *findings) last(name string, now time.Time) (check.Finding, bool) {
	found, known := f.latest[name]
	if later := f.vain[name]; known && !f.fresh(found, now) && later.Checked.After(found.Checked) {
		found = later
	}
	return found, known
}

// list returns the findings at now, in the order of the checks. A finding that is too old is
// stale.
func (f *findings) list(now time.Time) []check.Finding {
	var list []check.Finding
	for _, c := range f.checks {
		found, known := f.last(c.Name, now)
		switch {
		case !known || found.Absent:
			continue
		case !f.fresh(found, now):
			found = check.Finding{Check: c.Name, State: check.StateNone, Reason: check.Stale, Checked: found.Checked,
				Detail: "the check is stuck: nothing since " + found.Checked.Format(time.RFC3339)}
		}
		found.Severity = c.Severity
		list = append(list, found)
	}
	return list
}

// puppetdb returns PuppetDB as a service of its own, if its check runs.
func (f *findings) puppetdb(now time.Time) (Service, bool) {
	limit, asked := f.maxAge[check.CheckPuppetDB]
	if !asked {
		return Service{}, false
	}
	var v check.Verdict
	if found, known := f.last(check.CheckPuppetDB, now); known {
		v = check.Verdict{
			Health:  check.Healthy,
			Reason:  found.Reason,
			Detail:  found.Detail,
			Since:   found.Checked,
			Checked: found.Checked,
			Expires: found.Checked.Add(limit),
		}
		switch found.State {
		case check.StateBad:
			v.Health = check.Unhealthy
		case check.StateNone:
			v.Health = check.Unknown
		}
	}
	return Service{Name: check.CheckPuppetDB, Verdict: v.At(now)}, true
}
