package monitor

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// audit logs what has changed.
type audit struct{ log *slog.Logger }

// note writes one line for each change of a verdict, a mode or a warning.
// Probes themselves are logged at debug: a line every two seconds hides the
// one that matters.
func (a audit) note(before, after *State) {
	for i := range after.Services {
		now := &after.Services[i]
		old, known := before.Service(now.Name)
		if !known {
			old = &Service{Name: now.Name}
		}
		a.verdict(old, now)
		a.mode(before, after, now.Name)
	}
	a.holds(before, after)
	if before.Published.IsZero() {
		return
	}
	if w := after.Warning(); w != "" && w != before.Warning() {
		a.log.Warn("not all of pmcheck's own files are in use", "error", w)
	}
}

// verdict logs a verdict that differs from the previous one.
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
	if v.Detail != "" {
		args = append(args, "detail", v.Detail)
	}
	if hint := v.Reason.Hint(); hint != "" {
		args = append(args, "hint", hint)
	}
	a.log.Log(context.Background(), level, "verdict changed", args...)
}

func (a audit) mode(before, after *State, name string) {
	was := drain.Ready
	if !before.Published.IsZero() {
		was, _ = before.Mode(name, before.Published)
	}
	is, because := after.Mode(name, after.Published)
	if is != was {
		a.log.Info("mode changed", "service", name, "before", was, "mode", is, "hold", holders(because))
	}
}

// holders lists holds, with the users who set them and their reasons, on one line.
func holders(holds []drain.Hold) string {
	names := make([]string, len(holds))
	for i, h := range holds {
		names[i] = h.Holder
		if h.Holder == drain.Directory {
			names[i] += " " + h.Path // there are two directories
		}
		if who := h.Who(); who != "" {
			names[i] += " (" + who + ")"
		}
		if h.Reason != "" {
			names[i] += ": " + h.Reason
		}
	}
	return strings.Join(names, "; ")
}
