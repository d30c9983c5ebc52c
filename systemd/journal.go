package systemd

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// StderrIsJournal reports whether standard error is connected to the journal.
func StderrIsJournal() bool {
	is, err := journal.StderrIsJournalStream()
	return is && err == nil
}

// NewJournalHandler returns a handler that writes records of at least that level to the
// journal. An attribute becomes a field ("hold" becomes PMCHECK_HOLD), and is appended
// to the message for readers that do not show fields. The message without them is the field
// PMCHECK_EVENT. Entries that a stalled journal does not accept in time are lost.
func NewJournalHandler(level slog.Leveler) slog.Handler {
	return &journalHandler{level: level, turn: make(chan struct{}, 1), send: journal.Send}
}

// journalTimeout is how long an entry may take. A probe loop that waits for the
// journal lets its verdict expire.
const journalTimeout = 100 * time.Millisecond

var errJournal = errors.New("the journal takes no entries")

type journalHandler struct {
	level  slog.Leveler
	turn   chan struct{} // has a value while an entry is being sent
	send   func(message string, p journal.Priority, fields map[string]string) error
	group  string      // the prefix of further attributes
	fields []slog.Attr // flat
}

// Enabled implements slog.Handler.
func (h *journalHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle implements slog.Handler.
func (h *journalHandler) Handle(_ context.Context, r slog.Record) error {
	message, fields := h.entry(r)
	timeout := time.NewTimer(journalTimeout)
	defer timeout.Stop()
	select {
	case h.turn <- struct{}{}:
	case <-timeout.C:
		return errJournal
	}
	sent := make(chan error, 1)
	go func() {
		defer func() { <-h.turn }()
		sent <- h.send(message, priority(r.Level), fields)
	}()
	select {
	case err := <-sent:
		return err
	case <-timeout.C:
		return errJournal
	}
}

// entry returns the message and the fields of a record.
func (h *journalHandler) entry(r slog.Record) (string, map[string]string) {
	attrs := slices.Clip(h.fields)
	r.Attrs(func(a slog.Attr) bool {
		attrs = flatten(attrs, h.group, a)
		return true
	})
	message := strings.Builder{}
	message.WriteString(r.Message)
	fields := map[string]string{"SYSLOG_IDENTIFIER": "pmcheck", "PMCHECK_EVENT": r.Message}
	for _, a := range attrs {
		text := a.Value.String()
		message.WriteString(" " + a.Key + "=" + quoted(text))
		fields["PMCHECK_"+fieldName(a.Key)] = text
	}
	return message.String(), fields
}

// WithAttrs implements slog.Handler.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.fields = slices.Clip(h.fields)
	for _, a := range attrs {
		next.fields = flatten(next.fields, h.group, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	next := *h
	if name != "" {
		next.group += name + "."
	}
	return &next
}

// flatten appends an attribute, or those of a group one by one.
func flatten(list []slog.Attr, group string, a slog.Attr) []slog.Attr {
	a.Value = a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return list
	case a.Value.Kind() != slog.KindGroup:
		return append(list, slog.Attr{Key: group + a.Key, Value: a.Value})
	case a.Key != "":
		group += a.Key + "."
	}
	for _, member := range a.Value.Group() {
		list = flatten(list, group, member)
	}
	return list
}

// fieldName returns a name in the characters that the journal accepts.
func fieldName(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(key))
}

// quoted returns a value as one word, in quotes if necessary.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '=' || !strconv.IsPrint(r)
	}) {
		return strconv.Quote(s)
	}
	return s
}

func priority(l slog.Level) journal.Priority {
	switch {
	case l >= slog.LevelError:
		return journal.PriErr
	case l >= slog.LevelWarn:
		return journal.PriWarning
	case l >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}
