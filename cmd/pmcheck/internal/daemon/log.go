package daemon

import (
	"io"
	"log/slog"
	"os"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// NewLogger returns a logger with the configured level and format. With the format auto,
// it writes to the journal if w is stderr and systemd has connected that to the journal.
func NewLogger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration accepts slog's levels only
	options := &slog.HandlerOptions{Level: level}
	switch {
	case c.Format == config.FormatJSON:
		return slog.New(slog.NewJSONHandler(w, options))
	case c.Format == config.FormatAuto && w == os.Stderr && systemd.StderrIsJournal():
		return slog.New(systemd.NewJournalHandler(level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
