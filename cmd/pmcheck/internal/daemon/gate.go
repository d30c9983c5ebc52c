package daemon

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
)

// GateDirectory is the runtime directory of pmcheck-gate.service.
const GateDirectory = "/run/pmcheck-gate"

const (
	// gateEvery is how often the daemon reads what the gate says of itself.
	gateEvery = 500 * time.Millisecond
	// othersEvery is how often the other masters of the fleet are asked. Slots are three
	// times as long, see rotation.Slots.
	othersEvery = 5 * time.Second
)

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
	path, err := runtimeFile{d.GateDir, api.GateFile}.path()
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	g := new(api.GateStatus)
	if json.Unmarshal(data, g) != nil {
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

// askOthers asks the other masters of the fleet while the gate runs, until ctx ends.
func (d *Daemon) askOthers(ctx context.Context) error {
	tick := time.NewTicker(othersEvery)
	defer tick.Stop()
	history := map[string]memory{}
	for ctx.Err() == nil {
		c := d.settings.Load()
		if len(c.Fleet) == 0 || !d.gate.Load().Runs(time.Now()) {
			d.others.Store(nil)
			clear(history)
		} else if members := api.AskAll(ctx, c.Fleet, fleetClients(c), nil); ctx.Err() == nil {
			own := append([]string{c.Probe.Certname}, api.OwnNames()...)
			d.others.Store(sortOthers(members, own, history, time.Now()))
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// fleetClients returns a client for each member. With https it verifies the member's
// certificate against Puppet's CA.
func fleetClients(c *config.Config) []api.Client {
	trust, _ := api.Trust(c.Probe.CA)
	clients := make([]api.Client, len(c.Fleet))
	for i, member := range c.Fleet {
		if u, err := api.MemberURL(member); err == nil { // the configuration accepts no other
			clients[i] = api.Client{URL: u.String(), TLS: trust}
		}
	}
	return clients
}

// memory is what is known of a member from earlier looks.
type memory struct {
	missed bool      // at the last look
	served time.Time // when it last did
}

// sortOthers sorts the members other than this master, whose names are own with the
// certname first, by what they say. A member is out if it did not serve at the last look
// either: one look may meet a restart of pmcheck.
func sortOthers(members []api.Member, own []string, history map[string]memory, now time.Time) *api.OthersStatus {
	o := &api.OthersStatus{Asked: now, Serving: []string{}, Out: []string{}, Unknown: []string{}, Missing: []string{}}
	for _, m := range members {
		before := history[m.Host]
		switch {
		case rotation.IsNamed(m.Host, own), m.Status != nil && m.Status.Certname == own[0]:
			continue
		case m.Status == nil && !m.Silent:
			o.Unknown = append(o.Unknown, m.Host)
		case m.Serves(), !before.missed:
			o.Serving = append(o.Serving, m.Host)
		default:
			o.Out = append(o.Out, m.Host)
		}
		if m.Serves() {
			before.served = now
		} else if !before.served.IsZero() && now.Sub(before.served) < balancer.Lately {
			o.Missing = append(o.Missing, m.Host)
		}
		before.missed = !m.Serves()
		history[m.Host] = before
	}
	return o
}
