package monitor

import (
	"context"
	"maps"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// once runs a check.
func once(ctx context.Context, s *check.Scheduled) check.Finding {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.Run(ctx)
}

// findings collects the latest findings of the checks other than the probe. Only the
// loop uses it.
type findings struct {
	checks    check.List
	observers map[string]check.Observer
	master    string      // the address of the master that the observers have seen
	seen      *check.Seen // nil before the first configuration
	scheduled map[string]*check.Scheduled
	latest    map[string]check.Finding
}

// configure sets the checks that run, each on a schedule of its own, so that no check delays another. It forgets the
// findings of the checks that no longer run. The observers remember the master, unless the configuration names another.
func (f *findings) configure(c config.Config, credentials *puppetclient.Credentials) {
	off := func(name string) bool { return c.Checks.Severity(name) == check.Off }

	scheduled := c.Checks.Scheduled(check.Host{Certname: c.Probe.Certname, Credentials: credentials})
	maps.DeleteFunc(scheduled, func(name string, _ *check.Scheduled) bool { return off(name) })
	maps.DeleteFunc(f.latest, func(name string, _ check.Finding) bool {
		hasEnded := f.scheduled[name] != nil && scheduled[name] == nil
		return off(name) || hasEnded
	})
	f.checks = c.Checks
	f.scheduled = scheduled

	if f.seen == nil || f.master != c.Probe.Address {
		f.seen = new(check.Seen)
		f.master = c.Probe.Address
	}
	f.observers = c.Checks.Observers(f.seen)
}

// observe records the findings of the checks that look at the result of a probe.
func (f *findings) observe(r check.Result, now time.Time) {
	for name, observe := range f.observers {
		if found := observe(r, now); found.Check != "" {
			f.latest[name] = found
		}
	}
}

// take records a finding. If a check could not find out this time, its last finding is
// kept while it is fresh.
func (f *findings) take(found check.Finding, now time.Time) {
	old, known := f.latest[found.Check]
	hasOld := known && old.State != check.StateNone && f.fresh(old, now)
	if found.State == check.StateNone && hasOld {
		return
	}
	f.latest[found.Check] = found
}

// unit records the state that systemd reports; without a unit nothing is known. An
// inactive unit says nothing about the master, and it replaces the finding from the
// time when the unit was stopping. another is set if what answers is not the unit's, as far as is known.
func (f *findings) unit(u systemd.UnitState, another bool, now time.Time) {
	delete(f.latest, check.CheckUnit)
	if u.Unit != "" {
		f.take(check.Unit(u.Unit, u.Active, u.Ended, another, now), now)
	}
}

// fresh reports whether a finding is not too old. A check without a schedule speaks up when
// something changes.
func (f *findings) fresh(found check.Finding, now time.Time) bool {
	s := f.scheduled[found.Check]
	return s == nil || now.Before(expires(s, found))
}

// expires returns when a finding is too old. There is room for a run that failed.
func expires(s *check.Scheduled, found check.Finding) time.Time {
	return found.Checked.Add(3*s.Interval + s.Timeout)
}

// list returns the findings of the checks that are not off at now, in their order. A finding that is too old is
// stale.
func (f *findings) list(now time.Time) (list []check.Finding) {
	for _, c := range f.checks {
		found, known := f.latest[c.Name]
		if !known || c.Severity == check.Off {
			continue
		}

		if !f.fresh(found, now) {
			found = check.Finding{
				Check:   c.Name,
				State:   check.StateNone,
				Reason:  check.Stale,
				Checked: found.Checked,
				Detail:  "the check has found nothing out since " + found.Checked.Format(time.RFC3339),
			}
		}
		found.Severity = c.Severity
		list = append(list, found)
	}
	return list
}

// puppetdb returns PuppetDB as a service of its own, if its check runs.
func (f *findings) puppetdb(now time.Time) (Service, bool) {
	s := f.scheduled[check.CheckPuppetDB]
	if s == nil {
		return Service{}, false
	}

	var v check.Verdict
	found, known := f.latest[check.CheckPuppetDB]
	if known {
		health := map[check.State]check.Health{
			check.StateOK:   check.Healthy,
			check.StateBad:  check.Unhealthy,
			check.StateNone: check.Unknown,
		}
		v = check.Verdict{
			Health:  health[found.State],
			Reason:  found.Reason,
			Detail:  found.Detail,
			Since:   found.Checked,
			Checked: found.Checked,
			Expires: expires(s, found),
		}
	}
	return Service{Name: check.CheckPuppetDB, Verdict: v.At(now)}, true
}
