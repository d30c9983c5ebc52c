package systemd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/coreos/go-systemd/v22/journal"
)

// NewLogger returns a logger that writes records of at least that level as text. If w is standard error and systemd has
// connected that to the journal, the lines carry their level for it.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	if w == os.Stderr && StderrIsJournal() {
		return slog.New(NewJournalHandler(level))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// StderrIsJournal reports whether standard error is connected to the journal.
func StderrIsJournal() bool {
	is, err := journal.StderrIsJournalStream()
	return is && err == nil
}

// NewJournalHandler returns a handler that writes records of at least that level to standard error,
// which must be connected to the journal. A line is slog's text without the time, which journald
// adds, and begins with the priority that journald reads there, such as "<4>"; see sd-daemon(3). A
// line that a stalled journal does not take at once is lost.
func NewJournalHandler(level slog.Leveler) slog.Handler {
	return newJournalHandler(syscall.Stderr, level)
}

func newJournalHandler(socket int, level slog.Leveler) slog.Handler {
	withoutTime := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}

	h := journalHandler{}
	for _, p := range []journal.Priority{journal.PriDebug, journal.PriInfo, journal.PriWarning, journal.PriErr} {
		h[p] = slog.NewTextHandler(journalWriter{socket: socket, priority: p}, options)
	}
	return h
}

// journalHandler has a handler of text for each priority.
type journalHandler map[journal.Priority]slog.Handler

// Enabled reports whether records of a level are written.
func (h journalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h[journal.PriInfo].Enabled(ctx, level)
}

// Handle writes a record with the priority of its level.
func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	return h[priority(r.Level)].Handle(ctx, r)
}

// WithAttrs returns a handler that adds these attributes to each record.
func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.each(func(text slog.Handler) slog.Handler { return text.WithAttrs(attrs) })
}

// WithGroup returns a handler that puts the attributes of each record into a group.
func (h journalHandler) WithGroup(name string) slog.Handler {
	return h.each(func(text slog.Handler) slog.Handler { return text.WithGroup(name) })
}

func (h journalHandler) each(change func(slog.Handler) slog.Handler) journalHandler {
	changed := journalHandler{}
	for p, text := range h {
		changed[p] = change(text)
	}
	return changed
}

// priority returns the priority of a level, or of the next lower level that has one.
func priority(level slog.Level) journal.Priority {
	switch {
	case level >= slog.LevelError:
		return journal.PriErr
	case level >= slog.LevelWarn:
		return journal.PriWarning
	case level >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}

// journalWriter writes lines of one priority to a socket of journald.
type journalWriter struct {
	socket   int
	priority journal.Priority
}

// Write never blocks: a probe loop that waits for the journal lets its verdict expire. Nor does it
// end the process if journald is gone, as a write to os.Stderr does with SIGPIPE.
func (w journalWriter) Write(line []byte) (int, error) {
	prefixed := append(fmt.Appendf(nil, "<%d>", w.priority), line...)

	if _, err := syscall.SendmsgN(w.socket, prefixed, nil, nil, syscall.MSG_DONTWAIT); err != nil {
		return 0, fmt.Errorf("cannot write to the journal: %w", err)
	}
	return len(line), nil
}
