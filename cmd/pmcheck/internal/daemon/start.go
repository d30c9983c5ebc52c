package daemon

import (
	"log/slog"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
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
	file, _ := config.Readable(o)
	kept, at, err := l.File()
	if err != nil {
		return Started{}, mistakes
	}
	o.File = kept
	if s, err = loadToStart(o); err != nil {
		return Started{}, mistakes // the mistake may be in an environment variable
	}
	s.File, s.Mistakes, s.Kept = file, mistakes, at
	return s, nil
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

// KeepOrWarn saves a copy of a valid configuration. The daemon uses it if it has to start
// while the file is broken.
func (l LastGood) KeepOrWarn(loaded *config.Loaded, log *slog.Logger) {
	if err := l.Keep(loaded.Content); err != nil {
		log.Warn("cannot save a copy of this configuration for a restart with a broken file", "error", err)
	}
}
