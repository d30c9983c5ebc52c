package daemon

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// Started is a configuration with which the daemon can start.
type Started struct {
	*config.Loaded
	// Missing names the Puppet files that do not exist. The daemon is often installed
	// before Puppet, and answers unknown until Puppet is there.
	Missing error
	// Mistakes are those in the current file, if the last good one is used instead.
	Mistakes error
	// Kept is when the last good one was read from the file that has mistakes now.
	Kept time.Time
}

// LoadToStart reads the configuration for a daemon that starts. If it has mistakes, the
// last good one is used: a restart must not take a healthy master out. The error names
// the mistakes.
func (l LastGood) LoadToStart(o config.Options) (Started, error) {
	s, mistakes := loadToStart(o)
	if mistakes == nil {
		return s, nil
	}
	return l.instead(o, mistakes)
}

// instead returns the last good configuration, to be used instead of the current one
// because of its mistakes. The error is the mistakes.
func (l LastGood) instead(o config.Options, mistakes error) (Started, error) {
	current, _ := config.Check(o)
	kept, at, err := l.File()
	if err != nil {
		return Started{}, mistakes
	}
	o.File = kept
	s, err := loadToStart(o)
	if err != nil {
		return Started{}, mistakes // the mistake may be in an environment variable
	}
	s.File, s.Mistakes, s.Kept = current.File, mistakes, at
	return s, nil
}

// Start returns a daemon that listens with the configuration that LoadToStart returned
// for o, and the configuration that it uses: if it cannot listen with that one, such as
// on an address that it cannot bind, it uses the last good one. The error is why it
// cannot listen. A configuration with which it listens becomes the last good one.
func (l LastGood) Start(ctx context.Context, o config.Options, s Started, out io.Writer) (*Daemon, Started, error) {
	passed, err := systemd.Listeners()
	if err != nil {
		return nil, s, err
	}
	d, err := l.listen(ctx, s, passed, out)
	if err == nil || s.Mistakes != nil {
		return d, s, err
	}
	older, lost := l.instead(o, err)
	if lost == nil {
		d, lost = l.listen(ctx, older, passed, out)
	}
	if lost != nil {
		return nil, s, err
	}
	return d, older, nil
}

// listen returns a daemon that listens, with the sockets that the service manager has
// passed.
func (l LastGood) listen(ctx context.Context, s Started, passed map[string][]net.Listener, out io.Writer) (
	*Daemon, error) {
	log := NewLogger(out, s.Config.Log)
	for _, w := range s.Warnings {
		log.Warn(w)
	}
	if s.Missing != nil {
		log.Warn("Puppet's files are missing, so the verdict is unknown until they exist", "error", s.Missing)
	}
	d := New(s.Config, s.File, ProgramVersion(), log)
	d.Runtime, d.GateDir = l.file.Dir, GateDirectory
	err := d.Inherit(passed[systemd.HTTPSocket], passed[systemd.StatusSocket])
	if err == nil {
		err = d.Listen(ctx)
	}
	if err != nil {
		return nil, err
	}
	if s.Mistakes != nil {
		d.StartedWithLast(s.Mistakes, s.Kept)
	} else {
		l.keep(s.Loaded, log)
	}
	return d, nil
}

// loadToStart reads the configuration. Missing Puppet files are not an error by
// themselves. If there are mistakes too, the error names both.
func loadToStart(o config.Options) (Started, error) {
	loaded, missing := config.Load(o)
	if missing != nil {
		var err error
		if loaded, err = config.Check(o); err != nil {
			return Started{}, missing
		}
	}
	return Started{Loaded: loaded, Missing: missing}, nil
}
