package daemon

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
)

// rememberEvery is how often the balancers are saved, in case the daemon is killed. A
// daemon that is stopped saves them at its end.
const rememberEvery = 10 * time.Second

func (d *Daemon) balancersFile() runtimeFile { return runtimeFile{d.Runtime, "balancers.json"} }

// recall restores the balancers that the previous daemon has saved, and the fleet. Without
// them, until a slow balancer asks again, a command would consider the master idle, or not
// see that it is the last server.
func (d *Daemon) recall(now time.Time) {
	list, err := load[[]balancer.Balancer](d.balancersFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Log.Warn("cannot read the balancers of the previous daemon", "error", err)
	}
	list = slices.DeleteFunc(list, func(b balancer.Balancer) bool { return !d.believed(b.Source) })
	d.balancers.Restore(list, now)
	d.fleet = d.recallFleet(now)
	d.others.Store(d.fleet.Others)
}

// remember saves the balancers every rememberEvery until ctx ends, and then once more.
func (d *Daemon) remember(ctx context.Context) error {
	if d.Runtime == "" {
		return nil
	}
	tick := time.NewTicker(rememberEvery)
	defer tick.Stop()
	said := false // a line for each failure would fill the log
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		err := d.balancersFile().save(d.balancers.All())
		if err != nil && !said {
			d.Log.Warn("cannot save the balancers for the next daemon", "error", err)
		}
		said = err != nil
	}
	return nil
}
