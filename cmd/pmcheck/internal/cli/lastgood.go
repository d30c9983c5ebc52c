package cli

import (
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

// started is the configuration that the daemon starts with.
type started struct {
	*config.Loaded
	// Missing says what of Puppet is missing. The daemon is often installed before
	// Puppet, and then answers balancers that nothing is known.
	Missing error
	// Mistakes are those of the current file, if this is the last good one.
	Mistakes error
}

// loadToStart reads the configuration for a daemon that starts. If it has mistakes,
// the last good one is used: a restart must not take a healthy master out.
func loadToStart(c *cli.Context, environ []string, last daemon.LastGood) (started, error) {
	o := options(c, environ)
	s, mistakes := loadForService(o)
	if mistakes == nil {
		return s, nil
	}
	file, _ := config.Readable(o)
	kept, err := last.File()
	if err != nil {
		return started{}, mistakes
	}
	o.File = kept
	if s, err = loadForService(o); err != nil {
		return started{}, mistakes // such as one in a variable
	}
	s.File, s.Mistakes = file, mistakes
	return s, nil
}

// loadForService reads the configuration for the daemon. Puppet may be missing; the
// error names all that is wrong if something else is wrong too.
func loadForService(o config.Options) (started, error) {
	loaded, missing := config.Load(o)
	if missing == nil {
		return started{Loaded: loaded}, nil
	}
	loaded, err := config.Check(o)
	if err != nil {
		return started{}, &exitError{status: exitUsage, err: missing}
	}
	return started{Loaded: loaded, Missing: missing}, nil
}

// loadAndKeep reads the configuration for a daemon that runs, and keeps a copy of it.
func loadAndKeep(c *cli.Context, environ []string, last daemon.LastGood, log *slog.Logger) (*config.Loaded, error) {
	loaded, err := load(c, environ)
	if err == nil {
		keep(last, loaded, log)
	}
	return loaded, err
}

func keep(last daemon.LastGood, loaded *config.Loaded, log *slog.Logger) {
	if err := last.Keep(loaded.Content); err != nil {
		log.Warn("a restart would not work with a mistake in the configuration", "error", err)
	}
}
