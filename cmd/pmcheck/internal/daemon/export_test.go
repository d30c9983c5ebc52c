package daemon

import (
	"sync/atomic"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

// FixedSource returns a source whose configuration a test sets, in the place of files.
func FixedSource() (s *Source, set func(*config.Loaded)) {
	next := new(atomic.Pointer[config.Loaded])
	s = NewSource(config.Options{}, "")
	s.load = func(config.Options) (*config.Loaded, error) { return next.Load(), nil }
	s.again = func(inUse *config.Loaded, _ puppetconf.Identity) (*config.Loaded, error) { return inUse, nil }
	return s, next.Store
}

// Uses reports whether a configuration is the one in use.
func (d *Daemon) Uses(loaded *config.Loaded) bool { return d.settings.Load() == &loaded.Config }

// CloseSocket closes the unix socket of a daemon that does not run.
func (d *Daemon) CloseSocket() { d.sockets[0].Close() }
