package daemon

import (
	"fmt"
	"os"
	"time"

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

// Keep replaces the copy.
func (l LastGood) Keep(content []byte) error {
	if err := l.file.Write(content); err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	return nil
}

// File returns the path of the copy if Keep could have written it, and when it was written.
func (l LastGood) File() (string, time.Time, error) {
	path, err := l.file.Path()
	if err != nil {
		return "", time.Time{}, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", time.Time{}, err
	}
	return path, info.ModTime(), nil
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
