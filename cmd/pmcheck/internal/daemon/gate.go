package daemon

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
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

// followGate keeps the status of the gate up to date until ctx ends. While a gate runs, and for
// gateRestart after, it reads that status every gateEvery. After that it does so with each
// state that the monitor publishes, at least every 5 s.
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

// readGate returns what the gate has written of itself, or nil if there is nothing that can be
// read; GateStatus.Runs tells whether the gate is alive. The text is made printable since
// others see it.
func (d *Daemon) readGate() *status.GateStatus {
	g, err := systemd.Load[*status.GateStatus](systemd.RuntimeFile{Dir: d.GateDir, Name: status.GateFile})
	if err != nil {
		return nil
	}
	status.Printable(g)
	return g
}

// gateNews reports whether the gate, its reason or its error has changed. That it has looked
// again is no news.
func gateNews(was, now *status.GateStatus) bool {
	if was == nil || now == nil {
		return was != now
	}
	return was.Closed != now.Closed || was.Reason != now.Reason || was.Error != now.Error
}
