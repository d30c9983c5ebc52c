package daemon

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/systemd"
)

// GateDirectory is the runtime directory of pmcheck-gate.service.
const GateDirectory = "/run/pmcheck-gate"

const (
	// gateEvery is how often the daemon reads what the gate says of itself, and
	// gateRestart how long a gate that has ended may take to run again.
	gateEvery   = 500 * time.Millisecond
	gateRestart = time.Minute
)

// followGate keeps the status of the gate up to date until ctx ends. If none has run for a
// while, it is looked for with each state that the monitor publishes, at least every 5 s. A
// gate that restarts must be noticed sooner.
func (d *Daemon) followGate(ctx context.Context) error {
	ran := time.Now() // one may start with the daemon
	for ctx.Err() == nil {
		_, published := d.states.now()
		was, now := d.gate.Load(), d.readGate()
		d.gate.Store(now)
		if gateNews(was, now) {
			d.news()
		}
		if now.Runs(time.Now()) {
			ran = time.Now()
		}
		if time.Since(ran) < gateRestart {
			waitFor(ctx, time.After(gateEvery))
		} else {
			waitFor(ctx, published)
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
