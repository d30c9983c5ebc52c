// Package gate refuses new connections to Puppet's port while this master is held, for
// agents that no balancer sends elsewhere: agents with server_list, SRV records or a name
// with several addresses. A refused agent asks its next server at once.
//
// Gate.Run follows the holds, Decide says whether they close the gate, and table.go has
// its rules in nftables.
//
// The gate fails open: a hold that it cannot read leaves the port open, and it removes its
// table when it stops. Once a hold is firm, a daemon that does not answer keeps it open no
// longer.
package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

const (
	// lookEvery is how often the gate looks at its table and the ends of holds. Changes of
	// the holds wake it at once.
	lookEvery = time.Second
	// statusTime is how long the daemon may take to say whether balancers send.
	statusTime = time.Second
)

// Gate is the gate of this host. Set the exported fields, then call Run.
type Gate struct {
	Settings config.Config
	Log      *slog.Logger
	Dir      string // for its status, which the daemon reads; empty for none

	table  *table
	status status.GateStatus
}

// Open removes the table of a gate that has ended without doing so.
func Open() error {
	t, err := newTable()
	if err != nil {
		return err
	}
	return t.open()
}

// Run closes and opens the gate as the holds ask until ctx ends, and leaves it open.
func (g *Gate) Run(ctx context.Context) (err error) {
	_, port, err := sockets.Split(g.Settings.Probe.Address)
	if err != nil {
		return err
	}
	g.table, err = newTable()
	if err != nil {
		return err
	}

	// An earlier gate may have left its table.
	if err := g.table.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.table.open()) }()
	g.status = status.GateStatus{Port: port, Since: time.Now()}

	watcher := g.Settings.Store().Watch()
	var watch sync.WaitGroup
	watch.Go(func() { watcher.Run(ctx) })
	g.follow(ctx, watcher)
	watch.Wait()
	return nil
}

// follow updates the gate after each change of the holds and every lookEvery. It tells systemd each time: the watchdog
// of systemd ends a gate that is silent.
func (g *Gate) follow(ctx context.Context, watcher *drain.Watcher) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()

	g.update(ctx, watcher.Current())
	_ = systemd.Ready(line(g.status))
	for {
		_ = systemd.Ping()
		select {
		case <-ctx.Done():
			return
		case <-watcher.Changes():
			// A directory that was replaced, perhaps with holds in it, closes nothing: the gate fails open.
			watcher.Accept()
		case <-tick.C:
		}
		g.update(ctx, watcher.Current())
		_ = systemd.Status(line(g.status))
	}
}

// update looks at the holds and the balancers, closes or opens the gate, and shows it to the daemon.
func (g *Gate) update(ctx context.Context, holds drain.Snapshot) {
	now := time.Now()
	before := g.status

	leaving := holds.Leaving(drain.Master, now) != drain.Firm
	closed, reason := Decide(holds, func() string { return g.sends(ctx, leaving) }, now)
	g.status.Looked = now
	g.status.Reason = reason

	g.status.Error = ""
	if err := g.set(closed); err != nil {
		g.status.Error = err.Error()
	}
	if g.status.Closed != before.Closed {
		g.status.Since = now
	}

	g.logChange(before)
	file := systemd.RuntimeFile{Dir: g.Dir, Name: status.GateFile} // which the daemon reads
	first := before.Looked.IsZero()
	if err := file.Save(g.status); err != nil && first {
		g.Log.Warn("the daemon cannot show the gate", "error", err)
	}
}

// set closes or opens the gate. It restores the table of a closed gate if something has
// changed it.
func (g *Gate) set(closed bool) error {
	g.status.Passes = g.passes()
	if !closed {
		if err := g.table.open(); err != nil {
			return err
		}
		g.status.Closed = false
		g.status.Refused = 0
		return nil
	}

	if g.status.Closed {
		refused, intact := g.table.intact()
		if intact {
			g.status.Refused = refused
			return nil
		}
		g.Log.Warn("something has changed the table inet pmcheck: restored", "port", g.status.Port)
	}

	err := g.table.close(g.status.Port, g.Settings.Gate.Except)
	g.status.Closed = err == nil
	return err
}

// passes returns the networks that are never refused: connections from this host use the loopback interface.
func (g *Gate) passes() (list []netip.Prefix) {
	for _, own := range sockets.OwnAddresses() {
		list = append(list, netip.PrefixFrom(own, own.BitLen()))
	}
	return append(list, g.Settings.Gate.Except...)
}

func (g *Gate) logChange(before status.GateStatus) {
	s := g.status
	if s.Error != "" && s.Error != before.Error {
		g.Log.Error("cannot close or open the gate", "error", s.Error)
	}
	if line(s) != line(before) {
		g.Log.Info("gate "+line(s), "port", s.Port, "refused", before.Refused)
	}
}

func line(s status.GateStatus) string {
	if s.Closed {
		return "closed: " + s.Reason
	}
	return "open: " + s.Reason
}

// sends returns which balancer still sends agents to this master, by its own view; empty if none does.
func (g *Gate) sends(ctx context.Context, leaving bool) string {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()

	st, err := client.Daemon{Socket: g.Settings.Socket}.Status(ctx)
	if err != nil {
		// While the hold is leaving, a daemon that hangs may have told a balancer to keep the master. Without a daemon,
		// balancers have taken the master out, or are about to.
		absent := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
		if leaving && !absent {
			return "the daemon does not say which balancers send"
		}
		return ""
	}

	hearing := st.Balancers.Hearing(drain.Master, st.Master().Mode)
	if leaving {
		// A balancer of which this is the only server sends until the hold is firm.
		hearing = hearing.Without(hearing.OnlyServer(st.Time))
	}
	if sending := hearing.Sending(st.Time); len(sending) > 0 {
		return "balancer " + sending[0].Label() + " still sends"
	}
	return ""
}

// Decide returns whether new connections are refused, and why: they are while a hold that could be read asks for
// drain or maint of the master itself, and no balancer sends agents to it any more. Any doubt about the holds
// leaves the gate open: agents that reach a held master are better off than agents that reach none.
//
// sends says in a sentence which balancer still sends; empty if none is known to. Decide calls sends only for a master
// that is held.
func Decide(holds drain.Snapshot, sends func() string, now time.Time) (closed bool, reason string) {
	mode, by, unreadable := holders(holds.At(now).Holds())
	if len(by) == 0 && unreadable != "" {
		return false, fmt.Sprintf("the hold of %s cannot be read", unreadable)
	}
	if len(by) == 0 {
		return false, "not held"
	}

	held := fmt.Sprintf("held in %s by %s", mode, strings.Join(by, ", "))
	if still := sends(); still != "" {
		return false, held + ", but " + still
	}
	return true, held
}

// holders returns the strictest mode that is asked for the master itself, who asks for it, and the holder of a hold
// that cannot be read. The strictest hold must come first.
func holders(holds []drain.Hold) (mode drain.Mode, by []string, unreadable string) {
	mode = drain.Ready
	for _, h := range holds {
		if !h.Covers(drain.Master) {
			continue
		}
		if h.Code != "" {
			unreadable = h.Holder
			continue
		}
		if mode == drain.Ready || mode == h.Mode {
			mode = h.Mode
			by = append(by, h.Holder)
		}
	}
	return mode, by, unreadable
}
