package daemon

import (
	"io"
	"log/slog"
	"os"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// NewLogger returns a logger with the configured level that writes text. If w is stderr and systemd
// has connected that to the journal, the lines carry their level for it.
func NewLogger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration accepts slog's levels only
	if w == os.Stderr && systemd.StderrIsJournal() {
		return slog.New(systemd.NewJournalHandler(level))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
