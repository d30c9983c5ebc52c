package monitor

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// audit logs what has changed: one line for each change of a verdict, a mode, a hold or a
// warning. Probes are logged at debug: a line every few seconds hides the one that matters.
type audit struct{ log *slog.Logger }

func (a audit) probe(service string, r check.Result) {
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
	args := fields([]any{"service", now.Name, "before", before, "verdict", v.Health, "reason", v.Reason},
		"detail", v.Detail, "hint", check.Hint(v.Reason))
	a.log.Log(context.Background(), level, "verdict changed", args...)
}

func (a audit) mode(before, after *State, name string) {
	was := drain.Ready
	if !before.Published.IsZero() {
		was, _ = before.Mode(name, before.Published)
	}
	is, because := after.Mode(name, after.Published)
	if is == was {
		return
	}
	var holders []string
	for _, h := range because {
		holders = append(holders, h.Holder)
	}
	a.log.Info("mode changed", "service", name, "before", was, "mode", is, "hold", strings.Join(holders, ", "))
}

// holds logs the beginning and the end of each hold, and each change that is worth a line. A new end
// is not: with-hold renews its end every few minutes. The line that is logged when the hold ends
// has the last end.
func (a audit) holds(before, after *State) {
	was, is := before.Holds.At(before.Published).Holds(), after.Holds.At(after.Published).Holds()
	for _, h := range was {
		switch expired := !h.Until.IsZero() && !h.Until.After(after.Published); {
		case find(h, is) >= 0:
		case expired:
			a.log.Info("hold expired", heldFields(h)...)
		default:
			a.log.Info("hold lifted", heldFields(h)...)
		}
	}
	for _, h := range is {
		switch i := find(h, was); {
		case i < 0 && h.Code != "":
			a.log.Error("hold cannot be read, so it counts as maint", append(heldFields(h), "path", h.Path)...)
		case i < 0:
			a.log.Info("hold set", heldFields(h)...)
		case was[i].Mode != h.Mode || was[i].Leaving != h.Leaving || was[i].Reason != h.Reason:
			a.log.Info("hold changed", heldFields(h)...)
		}
	}
}

// find returns the index in list of the hold that h continues, or -1. A hold that was lifted
// and set again is another hold. Both directories of holds have the same holder, so only
// their paths tell them apart.
func find(h drain.Hold, list []drain.Hold) int {
	return slices.IndexFunc(list, func(o drain.Hold) bool {
		same := o.Holder == h.Holder && o.Service == h.Service && o.Since.Equal(h.Since)
		return same && (h.Holder != drain.Directory || o.Path == h.Path)
	})
}

func heldFields(h drain.Hold) []any {
	args := fields([]any{"hold", h.Holder, "service", h.Service, "mode", h.Mode},
		"leaving", string(h.Leaving), "by", h.By, "owner", h.Owner, "reason", h.Reason, "error", h.Error,
		"since", stamp(h.Since), "until", stamp(h.Until))
	if h.UntilReboot {
		args = append(args, "until_reboot", true)
	}
	return args
}

// fields appends those pairs of a key and a value whose value is not empty.
func fields(args []any, pairs ...string) []any {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args = append(args, pairs[i], pairs[i+1])
		}
	}
	return args
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
