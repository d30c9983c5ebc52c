package daemon

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/systemd"
)

// GateDirectory is the runtime directory of pmcheck-gate.service.
const GateDirectory = "/run/pmcheck-gate"

// gateEvery is how often the daemon reads what the gate says of itself.
const gateEvery = 500 * time.Millisecond

// followGate keeps the status of the gate up to date until ctx ends.
func (d *Daemon) followGate(ctx context.Context) error {
	tick := time.NewTicker(gateEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		was, now := d.gate.Load(), d.readGate()
		d.gate.Store(now)
		if gateNews(was, now) {
			d.changes.note()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// readGate returns what the gate says of itself; nil if none runs. The text is foreign:
// only the daemon's user can have written it, but it is shown to others.
func (d *Daemon) readGate() *api.GateStatus {
	g, err := systemd.Load[*api.GateStatus](systemd.RuntimeFile{Dir: d.GateDir, Name: api.GateFile})
	if err != nil {
		return nil
	}
	api.Printable(g)
	return g
}

// gateNews reports whether a reader of the status may act on the difference.
func gateNews(was, now *api.GateStatus) bool {
	if was == nil || now == nil {
		return was != now
	}
	return was.Closed != now.Closed || was.Reason != now.Reason || was.Error != now.Error
}
