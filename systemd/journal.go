package systemd

import (
	"bytes"
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
	return slog.NewTextHandler(journalWriter{socket}, options)
}

// journalWriter writes lines of slog's text handler to a socket of journald.
type journalWriter struct{ socket int }

// Write never blocks: a probe loop that waits for the journal lets its verdict expire. Nor does it
// end the process if journald is gone, as a write to os.Stderr does with SIGPIPE.
func (w journalWriter) Write(line []byte) (int, error) {
	prefixed := append(fmt.Appendf(nil, "<%d>", priority(line)), line...)

	if _, err := syscall.SendmsgN(w.socket, prefixed, nil, nil, syscall.MSG_DONTWAIT); err != nil {
		return 0, fmt.Errorf("cannot write to the journal: %w", err)
	}
	return len(line), nil
}

// priority returns the priority for the level of a line, which begins with it.
func priority(line []byte) journal.Priority {
	level, _, _ := bytes.Cut(line, []byte(" "))
	switch string(level) {
	case "level=ERROR":
		return journal.PriErr
	case "level=WARN":
		return journal.PriWarning
	case "level=DEBUG":
		return journal.PriDebug
	}
	return journal.PriInfo
}
