package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// rememberEvery is how often the memory is saved, in case the daemon is killed. A
// daemon that is stopped saves it at its end.
const rememberEvery = 10 * time.Second

// memory is the file that a daemon leaves for the next: its JSON, and nothing else's. leaves makes it of what the
// daemon knows, and recall turns it back.
type memory struct {
	Saved        time.Time      `json:"saved"`
	ListensSince time.Time      `json:"listens_since"`
	Believed     []netip.Prefix `json:"believed"` // the setting balancers
	Balancers    balancer.Saved `json:"balancers"`
	UnseenUntil  time.Time      `json:"unseen_until,omitzero"`
	Master       masterMemory   `json:"master"`
}

// masterMemory is a monitor.Memory in the file.
type masterMemory struct {
	Good    map[drain.Service]goodAnswer `json:"good"`
	Pool    poolMemory                   `json:"pool"`
	Address string                       `json:"address,omitempty"`
}

// goodAnswer is a check.Memory in the file.
type goodAnswer struct {
	Answered time.Time `json:"answered"`
	Listener string    `json:"listener"`
}

// poolMemory is a check.PoolMemory in the file.
type poolMemory struct {
	Complete   bool      `json:"complete"`
	StuckSince time.Time `json:"stuck_since,omitzero"`
	Listener   string    `json:"listener"`
}

// leaves returns what the daemon leaves for the next.
func (d *Daemon) leaves() memory {
	known := d.monitor.State().Memory()
	good := map[drain.Service]goodAnswer{}
	for service, last := range known.Good {
		good[service] = goodAnswer(last)
	}
	return memory{
		Saved:        time.Now(),
		ListensSince: *d.listens.Load(),
		Believed:     d.settings.Load().Balancers,
		Balancers:    d.balancers.All().Save(),
		UnseenUntil:  d.balancers.Unseen(),
		Master:       masterMemory{Good: good, Pool: poolMemory(known.Pool), Address: known.Address},
	}
}

// memory returns what the monitor can go on from.
func (m masterMemory) memory() monitor.Memory {
	good := map[drain.Service]check.Memory{}
	for service, last := range m.Good {
		good[service] = check.Memory(last)
	}
	return monitor.Memory{Good: good, Pool: check.PoolMemory(m.Pool), Address: m.Address}
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
	d.balancers.Restore(m.Balancers.List(), now)
	d.balancers.RestoreUnseen(m.UnseenUntil, now)
	d.believe(m.Believed, d.settings.Load().Balancers)
	d.monitor.Recall(m.Master.memory())
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

		err := d.memoryFile().Save(d.leaves())
		if err != nil && !failed { // a line each time would fill the log
			d.log.Warn("cannot save what the next daemon needs to know", "error", err)
		}
		failed = err != nil
	}
	return nil
}
