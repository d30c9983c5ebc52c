package daemon

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/systemd"
)

// rememberEvery is how often the balancers are saved, in case the daemon is killed. A
// daemon that is stopped saves them at its end.
const rememberEvery = 10 * time.Second

func (d *Daemon) balancersFile() systemd.RuntimeFile {
	return systemd.RuntimeFile{Dir: d.Runtime, Name: "balancers.json"}
}

// recall restores the balancers that the previous daemon has saved. Without
// them, until a slow balancer asks again, a command would consider the master idle, or not
// see that it is the last server.
func (d *Daemon) recall(now time.Time) {
	list, err := systemd.Load[balancer.Saved](d.balancersFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Log.Warn("cannot read the balancers of the previous daemon", "error", err)
	}
	d.balancers.Restore(balancer.List(list), now)
	d.balancers.Believe(d.settings.Load().Balancers)
}

// remember saves the balancers every rememberEvery until ctx ends, and then once more.
func (d *Daemon) remember(ctx context.Context) error {
	tick := time.NewTicker(rememberEvery)
	defer tick.Stop()
	for failed := false; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		err := d.balancersFile().Save(d.balancers.All())
		if err != nil && !failed { // a line each time would fill the log
			d.Log.Warn("cannot save the balancers for the next daemon", "error", err)
		}
		failed = err != nil
	}
	return nil
}
