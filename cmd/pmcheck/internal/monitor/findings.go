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
	checks check.List
	latest map[string]check.Finding
	vain   map[string]check.Finding // of runs that could not find out, while latest was fresh
	maxAge map[string]time.Duration // beyond it a finding is stale
	// unread is when the JRuby pool had to be read again; zero once it has been read.
	unread time.Time
	// silent is when the master stopped answering; zero while it answers.
	silent time.Time
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
	f.checks, f.maxAge = checks, maxAge
}

// observe records the findings of the checks that look at the result of a probe.
func (f *findings) observe(r check.Result, now time.Time) {
	for _, c := range f.checks {
		if c.Observe != nil {
			f.take(c.Observe(r, now), now)
		}
	}
}

// take records a finding. If a check could not find out this time, its last finding is
// kept while it is fresh.
func (f *findings) take(found check.Finding, now time.Time) {
	if f.checks.Severity(found.Check) == check.Off {
		return
	}
	again := found.State == check.StateNone && found.Health == check.Warming // not to be read yet
	if found.Check == check.CheckJRuby && found.Checked.After(f.unread) && !again {
		f.unread = time.Time{}
	}
	old, known := f.latest[found.Check]
	if found.State == check.StateNone && known && old.State != check.StateNone && f.fresh(old, now) {
		f.vain[found.Check] = found
		return
	}
	f.latest[found.Check] = found
}

// heard records whether a probe of the master was answered.
func (f *findings) heard(r check.Result) {
	switch {
	case r.Fault == nil:
		f.silent = time.Time{}
	case r.Fault.Definite() && f.silent.IsZero():
		f.silent = r.Asked
	}
}

// forgetPool makes the master warming until its JRuby pool has been read again.
func (f *findings) forgetPool(now time.Time) {
	if f.checks.Severity(check.CheckJRuby) != check.Off {
		f.unread = now
		delete(f.latest, check.CheckJRuby)
	}
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

// saturated reports whether the pool was last seen with requests waiting.
func (f *findings) saturated(now time.Time) bool {
	pool := f.latest[check.CheckJRuby]
	return pool.Pool != nil && pool.Pool.Saturated() && f.fresh(pool, now)
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
		case c.Name == check.CheckJRuby && !f.unread.IsZero():
			found = unreadPool(f.unread)
		case !known || found.Absent:
			continue
		case found.Pool != nil && !f.silent.IsZero() && found.Checked.Before(f.silent):
			found = found.Outlived()
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

// unreadPool returns the finding for a pool that has not been read since the master
// began to answer: the first JRuby answers long before the last one is ready.
func unreadPool(since time.Time) check.Finding {
	return check.Finding{
		Check:   check.CheckJRuby,
		State:   check.StateBad,
		Health:  check.Warming,
		Reason:  check.JRubyUnread,
		Detail:  "the master answers; its JRubies have not been counted yet",
		Checked: since,
	}
}
