package daemon

import "fmt"

// LastGood is a copy of the last configuration file that had no mistake. Only the daemon
// reads it: a command that root runs must not take settings from a file that the daemon
// can write.
type LastGood struct {
	file runtimeFile
}

// NewLastGood returns the copy in the runtime directory. Without one, nothing is kept.
func NewLastGood(environ []string) LastGood {
	return LastGood{runtimeFile{RuntimeDirectory(environ), "last-good.yaml"}}
}

// Keep replaces the copy.
func (l LastGood) Keep(content []byte) error {
	if err := l.file.write(content); err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	return nil
}

// File returns the path of the copy if Keep could have written it.
func (l LastGood) File() (string, error) { return l.file.path() }

// StartedWithLast records that the daemon has started with the last good configuration,
// since the current one has mistakes.
func (d *Daemon) StartedWithLast(mistakes error) {
	d.Log.Error("configuration not usable, the last good one is in use; correct the file, then reload", "error", mistakes)
	d.noteConfigError(mistakes)
}

// noteConfigError puts into the status why a newer configuration is not in use.
func (d *Daemon) noteConfigError(err error) {
	status := *d.config.Load()
	status.Error = err.Error()
	d.config.Store(&status)
	d.changes.note()
}
