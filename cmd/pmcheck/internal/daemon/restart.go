package daemon

import "github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"

// A setting is one that a reload does not change.
type setting struct {
	key   string
	value any // comparable
}

// atStart returns the settings that a daemon uses as they were when it was started.
func atStart(c config.Config) []setting {
	return []setting{
		{"listen", c.Listen},
		{"log", c.Log},
	}
}

// waitForRestart returns the keys of the settings that differ from those that a daemon was
// started with.
func waitForRestart(started, now config.Config) (keys []string) {
	old := atStart(started)
	for i, s := range atStart(now) {
		if s.value != old[i].value {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// survives reports whether a daemon that is started with c binds a port that this one has
// shown to be free for it.
func (d *Daemon) survives(c config.Config) bool { return d.inherited || c.Listen == d.start.Listen }
