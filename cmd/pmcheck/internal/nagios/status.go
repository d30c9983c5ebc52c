package nagios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/drain"
)

// Status returns the line for what a daemon knows. A service that is held is a WARNING,
// whatever its verdict, and CRITICAL once a hold is older than its limit or cannot be read.
// The line shows a service that does not serve even if something else is worse.
func Status(s api.Status, limits Limits) *Line {
	l := &Line{}
	var out []string
	for _, service := range s.Services {
		state, said := serviceState(s, service, limits)
		if len(s.Services) > 1 {
			said = service.Name + " " + said
		}
		l.add(state, said)
		l.sideChecks(service.Checks)
		if service.Mode != drain.Ready || !service.Verdict.Health.Serves() && !aside(s, service) {
			out = append(out, said)
		}
	}
	if s.Config.Error != "" {
		l.add(Warning, "configuration not reloaded: "+s.Config.Error)
	}
	l.probe(s.Probe, limits, s.Time)
	for _, said := range out {
		if !slices.Contains(l.texts, said) {
			l.texts = append(l.texts, said)
		}
	}
	age := fmt.Sprintf("held=%ds;;%s", seconds(heldFor(s)), above(limits.CritHold))
	l.perf = append(l.perf, strings.TrimRight(age, ";"))
	for _, service := range s.Services {
		if pool, _ := service.Pool(); pool != nil {
			l.perf = append(l.perf, fmt.Sprintf("jrubies_free=%d;;;0;%d", pool.Free, pool.Size))
		}
	}
	return l
}

// serviceState returns the state of one service.
func serviceState(s api.Status, service api.ServiceStatus, limits Limits) (state State, said string) {
	state, said = verdict(service.Verdict)
	if service.Mode == drain.Ready {
		if aside(s, service) {
			state = OK
		}
		return state, said
	}
	state = Warning
	var list []string
	for _, h := range s.Holds {
		if !holds(h, service) {
			continue
		}
		since := heldSince(h, service)
		if h.Code == drain.Unreadable || limits.CritHold > 0 && s.Time.Sub(since) > limits.CritHold {
			state = Critical
		}
		list = append(list, fmt.Sprintf("%s, held for %s", render.Hold(h.Hold), text.Age(s.Time.Sub(since))))
	}
	return state, strings.Join(append(list, said), "; ")
}

// aside reports whether the verdict of a service is left to the check of the same name: that
// of PuppetDB, which masters share, unless the check takes the master out. Asked for alone,
// it counts.
func aside(s api.Status, service api.ServiceStatus) bool {
	ejects := slices.ContainsFunc(s.Services[0].Checks, func(c api.CheckStatus) bool {
		return c.Check == service.Name && c.Severity == check.Eject
	})
	return service.Name == check.CheckPuppetDB && len(s.Services) > 1 && !ejects
}

// holds reports whether a hold takes the service out. The guard also announces a stop with
// a hold of mode ready.
func holds(h api.HoldStatus, service api.ServiceStatus) bool {
	return h.Mode != drain.Ready && h.Covers(service.Name)
}

// heldSince returns when a hold of the service was set. An initial mode has no such time,
// so it counts from when the mode began.
func heldSince(h api.HoldStatus, service api.ServiceStatus) time.Time {
	if h.Since.IsZero() {
		return service.ModeSince
	}
	return h.Since
}

// sideChecks adds the checks that complain and are not part of a verdict. When the check
// expiry warns is a setting of the daemon; for this line --warn-expiry decides.
func (l *Line) sideChecks(checks []api.CheckStatus) {
	for _, c := range checks {
		judged := c.Severity == check.Eject && c.Health != ""
		early := c.Reason == check.ExpiresSoon || c.Reason == check.RenewalOverdue
		if (c.State == check.StateBad || c.State == check.StateWarn) && !judged && !early {
			l.add(Warning, fmt.Sprintf("%s: %s", c.Check, c.Detail))
		}
	}
}

// heldFor returns the age of the oldest hold, 0 without a hold.
func heldFor(s api.Status) (age time.Duration) {
	for _, service := range s.Services {
		for _, h := range s.Holds {
			if holds(h, service) {
				age = max(age, s.Time.Sub(heldSince(h, service)))
			}
		}
	}
	return age
}

// above returns the range of a limit that is reached from below, empty for none.
func above(limit time.Duration) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprint(seconds(limit))
}
