package daemon

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/systemd"
)

// rememberEvery is how often the memory is saved, in case the daemon is killed. A
// daemon that is stopped saves it at its end.
const rememberEvery = 10 * time.Second

// memory is what a daemon leaves to the next.
type memory struct {
	Saved        time.Time      `json:"saved"`
	ListensSince time.Time      `json:"listens_since"`
	Balancers    balancer.Saved `json:"balancers"`
	Master       monitor.Memory `json:"master"`
}

func (d *Daemon) memoryFile() systemd.RuntimeFile {
	return systemd.RuntimeFile{Dir: d.runtime, Name: "memory.json"}
}

// recall restores what the previous daemon has saved. Without its balancers, until a slow balancer asks again, a
// command would consider the master idle, or not see that it is the last server. Without the master's memory, a restart
// of the daemon would take a saturated master out of its pool, and bring one back whose JRubies are stuck.
func (d *Daemon) recall(now time.Time) {
	m, err := systemd.Load[memory](d.memoryFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("cannot read what the previous daemon has saved", "error", err)
	}

	// After a pause, balancers may ask that no daemon has heard.
	pause := now.Sub(m.Saved)
	if pause >= 0 && pause < balancer.SilentAfter && m.ListensSince.Before(now) {
		d.listens.Store(&m.ListensSince)
	}
	d.balancers.Restore(balancer.List(m.Balancers), now)
	d.balancers.Believe(d.settings.Load().Balancers)
	d.monitor.Recall(m.Master)
}

// remember saves the memory every rememberEvery until ctx ends, and then once more.
func (d *Daemon) remember(ctx context.Context) error {
	tick := time.NewTicker(rememberEvery)
	defer tick.Stop()

	failed := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}

		err := d.memoryFile().Save(memory{
			Saved:        time.Now(),
			ListensSince: *d.listens.Load(),
			Balancers:    balancer.Saved(d.balancers.All()),
			Master:       d.monitor.State().Memory(),
		})
		if err != nil && !failed { // a line each time would fill the log
			d.log.Warn("cannot save what the next daemon needs to know", "error", err)
		}
		failed = err != nil
	}
	return nil
}
