package cli

import (
	"bytes"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// keepTime is how long a command waits for the copy of its configuration: a file system may hang.
const keepTime = time.Second

// lastGood is a copy of the last pmcheck.yaml that a command of root could use. A guard that finds the file broken goes
// on with the copy: after a push of a broken file, each master of a pool would stop without a slot. The daemon's own
// copy is not used, since root trusts nothing that the daemon can write.
type lastGood struct{ systemd.RuntimeFile }

func ofRoot() lastGood {
	return lastGood{systemd.RuntimeFile{Dir: "/var/lib/pmcheck", Name: "last-good.yaml"}}
}

// keep saves a configuration. A user who is not root cannot, and nothing depends on it.
func (g lastGood) keep(loaded *config.Loaded) {
	if g.Dir == "" {
		return
	}
	within(keepTime, func() {
		kept := config.Options{File: g.Path()}.Open().Content
		if kept != nil && bytes.Equal(kept, loaded.Content) {
			return
		}
		_ = g.Write(loaded.Content)
	})
}

// load returns the configuration that was kept last; nil if there is none, or if it cannot be used.
func (g lastGood) load(o config.Options) (kept *config.Loaded) {
	if g.Dir == "" {
		return nil
	}
	o.File = g.Path()
	loaded := make(chan *config.Loaded, 1)
	within(keepTime, func() {
		if l, err := config.Load(o); err == nil {
			loaded <- l
		}
	})
	select {
	case kept = <-loaded:
	default:
	}
	return kept
}

// within calls f, and waits for it so long at the most.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()

	select {
	case <-done:
	case <-time.After(d):
	}
}
