package daemon

import (
	"log/slog"
	"os"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// LastGood is a copy of the last configuration file that had no mistake. Only the daemon
// reads it: a command that root runs must not take settings from a file that the daemon
// can write.
type LastGood struct {
	file systemd.RuntimeFile
}

// NewLastGood returns the copy in the runtime directory. Without one, nothing is kept.
func NewLastGood(environ []string) LastGood {
	return LastGood{systemd.RuntimeFile{Dir: systemd.RuntimeDirectory(environ), Name: "last-good.yaml"}}
}

// keep saves a copy of a configuration with which a daemon can listen, for a start while the file
// is broken. It logs an error.
func (l LastGood) keep(loaded *config.Loaded, log *slog.Logger) {
	if err := l.file.Write(loaded.Content); err != nil {
		log.Warn("cannot save a copy of this configuration for a restart with a broken file", "error", err)
	}
}

// File returns the path of the copy, and when it was written.
func (l LastGood) File() (string, time.Time, error) {
	info, err := os.Stat(l.file.Path())
	if err != nil {
		return "", time.Time{}, err
	}
	return l.file.Path(), info.ModTime(), nil
}

// StartedWithLast records that the daemon has started with the last good configuration,
// which was read from the file at the given time, since the current one has mistakes.
func (d *Daemon) StartedWithLast(mistakes error, kept time.Time) {
	d.Log.Error("configuration not usable, the last good one is in use; correct the file, then reload", "error", mistakes)
	status := *d.config.Load()
	status.Loaded = kept
	d.config.Store(&status)
	d.noteConfigError(mistakes)
}

// noteConfigError puts into the status why a newer configuration is not in use.
func (d *Daemon) noteConfigError(err error) {
	status := *d.config.Load()
	status.Error = err.Error()
	d.config.Store(&status)
	d.news()
}
