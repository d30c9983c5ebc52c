package daemon

import (
	"io"
	"log/slog"
	"os"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// NewLogger writes log lines as the configuration says: with the format auto
// to the journal, if that is where w leads anyway.
func NewLogger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // a LogLevel is one of those that slog reads
	options := &slog.HandlerOptions{Level: level}
	switch {
	case c.Format == config.FormatJSON:
		return slog.New(slog.NewJSONHandler(w, options))
	case c.Format == config.FormatAuto && w == os.Stderr && systemd.StderrIsJournal():
		return slog.New(systemd.NewJournalHandler(level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
