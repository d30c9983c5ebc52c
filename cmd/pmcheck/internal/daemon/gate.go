package daemon

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/systemd"
)

// GateDirectory is the runtime directory of pmcheck-gate.service.
const GateDirectory = "/run/pmcheck-gate"

// gateEvery is how often the daemon reads what the gate says of itself, while one runs.
const gateEvery = 500 * time.Millisecond

// followGate keeps the status of the gate up to date until ctx ends. While none runs, it is
// looked for after each change, and the monitor makes one at least every 5 s.
func (d *Daemon) followGate(ctx context.Context) error {
	for ctx.Err() == nil {
		_, changed := d.changes.now()
		was, now := d.gate.Load(), d.readGate()
		d.gate.Store(now)
		if gateNews(was, now) {
			d.changes.note()
		}
		if now == nil {
			waitFor(ctx, changed)
		} else {
			waitFor(ctx, time.After(gateEvery))
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
