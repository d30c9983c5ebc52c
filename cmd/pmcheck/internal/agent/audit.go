package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// audit writes one line for each change of a verdict, a mode, or a warning.
// Probes themselves are logged at debug: a line every two seconds hides the
// one that matters.
func (l *loop) audit(before, after *state) {
	for i := range after.services {
		now := &after.services[i]
		old, known := before.find(now.name)
		if !known {
			old = &service{name: now.name}
		}
		l.auditVerdict(old, now)
		l.auditMode(before, after, now.name)
	}
	if before.turned.IsZero() {
		return
	}
	for _, h := range after.holds.Expired(before.turned, after.turned) {
		l.log.Info("hold expired", "hold", h.Holder, "service", h.Service, "mode", h.Mode, "until", h.Until)
	}
	if w := warningText(after); w != "" && w != warningText(before) {
		l.log.Warn("newer files are not in use, the last good ones are", "error", w)
	}
	if d := after.degraded; d != nil && fmt.Sprint(d) != fmt.Sprint(before.degraded) {
		l.log.Warn("holds are noticed late", "error", d)
	}
}

// auditVerdict compares with what was said last, which need not be the verdict
// before: that the JRubies are being counted is no news.
func (l *loop) auditVerdict(old, now *service) {
	v := now.verdict
	if v.Same(old.verdict) || v.Reason == check.NotProbed {
		return
	}
	said, known := l.said[now.name]
	if !known {
		said.Health = check.Unknown
	}
	level := slog.LevelWarn
	switch {
	case v.Reason == check.JRubyUnread || v.Same(said):
		level = slog.LevelDebug // for the few milliseconds that counting takes, and back again
	case v.Health.Serves():
		level = slog.LevelInfo
	}
	if level > slog.LevelDebug {
		l.said[now.name] = v
	}
	args := []any{"service", now.name, "before", said.Health, "verdict", v.Health, "reason", v.Reason}
	if v.Detail != "" {
		args = append(args, "detail", v.Detail)
	}
	if hint := v.Reason.Hint(); hint != "" {
		args = append(args, "hint", hint)
	}
	l.log.Log(context.Background(), level, "verdict changed", args...)
}

func (l *loop) auditMode(before, after *state, name string) {
	was, wasBecause := drain.Ready, []drain.Hold(nil)
	if !before.turned.IsZero() {
		was, wasBecause = before.mode(name, before.turned)
	}
	is, because := after.mode(name, after.turned)
	if is == was && holders(because) == holders(wasBecause) {
		return
	}
	if is == was {
		l.log.Info("holds changed", "service", name, "mode", is, "hold", holders(because), "hold_before", holders(wasBecause))
	} else {
		l.log.Info("mode changed", "service", name, "before", was, "mode", is, "hold", holders(because), "hold_before", holders(wasBecause))
	}
	for _, h := range because {
		if h.Code != "" {
			l.log.Error("hold cannot be read, so it counts as maint", "hold", h.Holder, "path", h.Path, "error", h.Error)
		}
	}
}

// holders names holds and the people behind them, on one line.
func holders(holds []drain.Hold) string {
	names := make([]string, len(holds))
	for i, h := range holds {
		names[i] = h.Holder
		if h.Holder == drain.Directory {
			names[i] += " " + h.Path // there are two of them
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

func warningText(s *state) string {
	if s.result.Warning == nil {
		return ""
	}
	return s.result.Warning.Error()
}
