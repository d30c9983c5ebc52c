package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
)

// rememberEvery is how often the balancers are saved, in case the daemon is killed. A
// daemon that is stopped saves them at its end.
const rememberEvery = 10 * time.Second

func (d *Daemon) balancersFile() runtimeFile { return runtimeFile{d.Runtime, "balancers.json"} }

// recall restores the balancers that the previous daemon has saved. Without them, until
// a slow balancer asks again, a command would consider the master idle, or not see that
// it is the last server.
func (d *Daemon) recall(now time.Time) {
	list, err := d.balancersFile().balancers()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Log.Warn("cannot read the balancers of the previous daemon", "error", err)
	}
	list = slices.DeleteFunc(list, func(b balancer.Balancer) bool { return !d.believed(b.Source) })
	d.balancers.Restore(list, now)
}

func (r runtimeFile) balancers() (list []balancer.Balancer, err error) {
	if r.dir == "" {
		return nil, nil
	}
	path, err := r.path()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
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
		err := d.writeBalancers()
		if err != nil && !said {
			d.Log.Warn("cannot save the balancers for the next daemon", "error", err)
		}
		said = err != nil
	}
	return nil
}

func (d *Daemon) writeBalancers() error {
	data, err := json.Marshal(d.balancers.Current(time.Now()))
	if err != nil {
		return err
	}
	return d.balancersFile().write(data)
}
