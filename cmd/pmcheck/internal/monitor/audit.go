package monitor

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// audit logs what has changed: one line for each change of a verdict, a warning or a hold.
// Probes are logged at debug: a line every few seconds hides the line that matters.
type audit struct{ log *slog.Logger }

func (a audit) probe(service drain.Service, r check.Result) {
	args := []any{"service", service, "took", r.Took, "handshake", r.Handshake, "url", r.URL}
	if r.Fault != nil {
		args = append(args, "fault", r.Fault)
	}
	a.log.Debug("probe", args...)
}

func (a audit) note(before, after *State) {
	for i := range after.Services {
		now := &after.Services[i]
		old, known := before.Service(now.Name)
		if !known {
			old = &Service{Name: now.Name}
		}
		a.verdict(old, now)
	}

	a.warnings(before, after)
	a.holds(before, after)
	a.hangs(before, after)
}

// warnings logs the beginning and the end of what a check warns of and no verdict shows.
func (a audit) warnings(before, after *State) {
	was := warnings(before.Findings)
	is := warnings(after.Findings)
	for name, f := range is {
		if f.Reason != was[name].Reason {
			a.log.Warn("check warns", "check", name, "reason", f.Reason, "detail", f.Detail, "hint", check.Hint(f.Reason))
		}
	}

	for name, f := range was {
		if _, still := is[name]; !still {
			a.log.Info("check no longer warns", "check", name, "reason", f.Reason)
		}
	}
}

// warnings returns the findings that are not good and change no verdict, by check: they say nothing about the health of
// the master, or their check may only warn.
func warnings(findings []check.Finding) map[string]check.Finding {
	list := map[string]check.Finding{}
	for _, f := range findings {
		isBad := f.State == check.StateWarn || f.State == check.StateBad
		isInVerdict := f.Health != "" && f.Severity == check.Eject
		if isBad && !isInVerdict {
			list[f.Check] = f
		}
	}
	return list
}

func (a audit) verdict(old, now *Service) {
	v := now.Verdict
	if v.Same(old.Verdict) || v.Reason == check.NotProbed {
		return
	}

	level := slog.LevelWarn
	if v.Health.Serves() {
		level = slog.LevelInfo
	}
	before := cmp.Or(old.Verdict.Health, check.Unknown)
	args := []any{"service", now.Name, "before", before, "verdict", v.Health, "reason", v.Reason}
	if v.Reason != check.OK {
		args = append(args, "detail", v.Detail, "hint", check.Hint(v.Reason))
	}
	a.log.Log(context.Background(), level, "verdict changed", args...)
}

// holds logs the beginning and the end of each hold, and each change that is worth a line. A new end
// is not: with-hold renews its end every few minutes. The line that is logged when the hold ends
// has the last end.
func (a audit) holds(before, after *State) {
	was := before.Holds.At(before.Published).Holds()
	is := after.Holds.At(after.Published).Holds()

	for _, h := range was {
		goesOn := slices.ContainsFunc(is, func(now drain.Hold) bool { return continues(h, now) })
		if !goesOn {
			a.holdEnded(h, after.Published)
		}
	}

	for _, h := range is {
		i := slices.IndexFunc(was, func(old drain.Hold) bool { return continues(old, h) })
		if i < 0 {
			a.holdBegan(h)
			continue
		}
		if old := was[i]; old.Mode != h.Mode || old.Leaving != h.Leaving || old.Reason != h.Reason {
			a.log.Info("hold changed", "hold", h)
		}
	}
}

// hangs logs when a directory of holds begins to hang, and when its file system answers again.
func (a audit) hangs(before, after *State) {
	was := before.Holds.Hangs()
	is := after.Holds.Hangs()

	for _, h := range is {
		if !slices.Contains(was, h) {
			a.log.Error(h.String())
		}
	}
	for _, h := range was {
		if !slices.ContainsFunc(is, func(now drain.Hang) bool { return now.Path == h.Path }) {
			a.log.Info("the holds can be read again", "directory", h.Path)
		}
	}
}

func (a audit) holdEnded(h drain.Hold, now time.Time) {
	if h.InEffect(now) {
		a.log.Info("hold lifted", "hold", h)
	} else {
		a.log.Info("hold expired", "hold", h)
	}
}

func (a audit) holdBegan(h drain.Hold) {
	if h.Code != "" {
		a.log.Error("hold cannot be read, so it counts as maint", "hold", h)
	} else {
		a.log.Info("hold set", "hold", h)
	}
}

// continues reports whether now is what has become of a hold. A hold that was lifted and set again is another hold. One
// that was leaving gets another Since when it is set again, as when its work begins.
func continues(old, now drain.Hold) bool {
	wasLeaving := old.Leaving != drain.Firm
	return old.Path == now.Path && (wasLeaving || old.Since.Equal(now.Since))
}
