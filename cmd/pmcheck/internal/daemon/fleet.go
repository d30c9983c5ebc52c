package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// othersEvery is how often the other masters of the fleet are asked. Windows are three times
// as long, see rotation.Windows.
const othersEvery = 5 * time.Second

// lookBefore is how long ago the look before may be: an answer takes up to 3 s.
const lookBefore = 2 * othersEvery

// fleet is what a daemon knows of the other masters, and leaves for the next one. Only
// askOthers uses it.
type fleet struct {
	GateRan time.Time         `json:"gate_ran"` // when the gate was last seen to run
	Others  *api.OthersStatus `json:"others"`   // nil if nothing is known
	Members map[string]memory `json:"members"`  // by their name in the configuration
}

// memory is what is known of a member from earlier looks.
type memory struct {
	Missed time.Time `json:"missed,omitzero"` // the last look, if it did not serve then
	Served time.Time `json:"served,omitzero"` // when it last did
	// Certname is that in its last answer.
	Certname string `json:"certname,omitempty"`
}

func (d *Daemon) fleetFile() systemd.RuntimeFile {
	return systemd.RuntimeFile{Dir: d.Runtime, Name: "fleet.json"}
}

// recallFleet restores what the previous daemon knew of the other masters. Without it, a
// master that is out during a restart of the daemon would not be expected back.
func (d *Daemon) recallFleet(now time.Time) fleet {
	f, err := systemd.Load[fleet](d.fleetFile())
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.Log.Warn("cannot read what the previous daemon knew of the fleet", "error", err)
		}
		f = fleet{}
	}
	api.Printable(f.Others)
	if f.Members == nil {
		f.Members = map[string]memory{}
	}
	for host, m := range f.Members {
		if m.Served.After(now) { // the clock was set back
			m.Served = now
		}
		f.Members[host] = m
	}
	if f.GateRan.After(now) {
		f.GateRan = now
	}
	if !f.asks(nil, now) || f.Others != nil && f.Others.Asked.After(now) {
		f.Others = nil
	}
	return f
}

// asks reports whether the other masters are asked: while the gate runs, and for a while
// after that. A gate that restarts must not make turns blind.
func (f *fleet) asks(gate *api.GateStatus, now time.Time) bool {
	if gate.Runs(now) {
		f.GateRan = now
	}
	return now.Sub(f.GateRan) < balancer.ExpectedBack
}

// askOthers asks the other masters of the fleet every othersEvery until ctx ends, and saves
// what is known of them after each look, in case the daemon is killed.
func (d *Daemon) askOthers(ctx context.Context) error {
	warn := d.warnOnce("cannot save what is known of the fleet for the next daemon")
	for ctx.Err() == nil {
		_, published := d.states.now()
		c := d.settings.Load()
		if len(c.Fleet) == 0 || !d.fleet.asks(d.gate.Load(), time.Now()) {
			if d.others.Swap(nil) != nil {
				d.changes.note()
			}
			waitFor(ctx, published)
			continue
		}
		again := time.After(othersEvery)
		warn(d.askFleet(ctx, c))
		waitFor(ctx, again)
	}
	return nil
}

// askFleet asks the other masters once. The error says why the answers were not saved.
func (d *Daemon) askFleet(ctx context.Context, c *config.Config) error {
	members := api.AskAll(ctx, c.Fleet, fleetClients(c), nil)
	if ctx.Err() != nil {
		return nil
	}
	d.fleet.look(members, append([]string{c.Probe.Certname}, api.OwnNames()...), time.Now())
	d.others.Store(d.fleet.Others)
	return d.fleetFile().Save(d.fleet)
}

// fleetClients returns a client for each member.
func fleetClients(c *config.Config) []api.Client {
	clients := make([]api.Client, len(c.Fleet))
	for i, member := range c.Fleet {
		if u, err := api.MemberURL(member); err == nil { // the configuration accepts no other
			clients[i] = api.Client{URL: u.String()}
		}
	}
	return clients
}

// look sorts the members other than this master, whose names are own with the certname
// first, by what they say. A member is out if it did not serve at the last look either: one
// look may meet a restart of pmcheck.
func (f *fleet) look(members []api.Member, own []string, now time.Time) {
	o := &api.OthersStatus{Asked: now, Serving: []string{}, Out: []string{}, Unknown: []string{}, Missing: []string{}}
	known := map[string]memory{}
	certnames := f.certnames(members)
	itself := itself(members, certnames, own)
	for _, m := range members {
		before, certname := f.Members[m.Host], certnames[m.Host]
		switch {
		case slices.Contains(itself, m.Host):
			o.Own = cmp.Or(o.Own, m.Host)
			known[m.Host] = memory{Certname: certname}
			continue
		case m.Status == nil && !m.Silent:
			o.Unknown = append(o.Unknown, m.Host)
		case m.Serves(), now.Sub(before.Missed) > lookBefore:
			o.Serving = append(o.Serving, m.Host)
		default:
			o.Out = append(o.Out, m.Host)
		}
		if m.Serves() {
			known[m.Host] = memory{Served: now, Certname: certname}
			continue
		}
		if now.Sub(before.Served) < balancer.ExpectedBack {
			o.Missing = append(o.Missing, m.Host)
		}
		known[m.Host] = memory{Missed: now, Served: before.Served, Certname: certname}
	}
	f.Others, f.Members = o, known
}

// certnames returns the certname in the last answer of each member, by its name in the
// configuration; empty if there was none.
func (f *fleet) certnames(members []api.Member) map[string]string {
	list := map[string]string{}
	for _, m := range members {
		list[m.Host] = f.Members[m.Host].Certname
		if m.Status != nil {
			list[m.Host] = m.Status.Certname
		}
	}
	return list
}

// itself returns the members that mean the master with these names, the certname first. A
// certname in an answer decides: the fleet may list this master by an alias, and a master of
// another domain by its hostname. Names only count for members that have never answered.
func itself(members []api.Member, certnames map[string]string, own []string) []string {
	var hosts []string
	names := slices.Clone(own)
	for _, m := range members {
		switch certnames[m.Host] {
		case "":
			hosts = append(hosts, m.Host)
		case own[0]:
			hosts = append(hosts, m.Host)
			names = append(names, api.HostOf(m.Host))
		}
	}
	return api.Named(hosts, names)
}
