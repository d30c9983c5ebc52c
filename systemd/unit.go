package systemd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

// UnitState is the state of a unit, in systemd's own words. The zero value says that
// nothing is known: there is no systemd, no D-Bus, or no such unit.
type UnitState struct {
	Unit   string // its name, puppetserver.service
	Active string // such as active, reloading or failed
	// Ended says how the main process ended, if not as planned: "ended with result oom-kill". It stays until the
	// unit is active or stops.
	Ended string
}

// Signals take effect immediately. The state is also read at intervals, to find units
// that were installed meanwhile, and to notice a bus that has gone away.
const (
	rereadEvery = 5 * time.Second
	callTimeout = 5 * time.Second
	retryEvery  = time.Second
	maxPending  = 256 // signals; all units of the host send them
)

// WatchUnit watches the first of these services that runs, or, if none does, the first that is loaded,
// until ctx ends. Every 5 s, and when one of the services changes, WatchUnit chooses again.
//
// It calls changed, from one goroutine, with the state of the unit, or with the zero value if the state cannot be
// known, and then with each change. A state that lasts less than a few milliseconds may be skipped. Without a system
// bus WatchUnit retries every second.
func WatchUnit(ctx context.Context, services []string, changed func(UnitState)) {
	w := &unitWatch{changed: changed}
	for _, name := range services {
		w.names = append(w.names, serviceUnit(name))
	}

	for ctx.Err() == nil {
		_ = w.follow(ctx) // not logged: what is reported next shows it, and it is tried again
		if ctx.Err() != nil {
			return // the caller has stopped, which says nothing about the unit
		}

		w.report(UnitState{})
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
}

type unitWatch struct {
	names   []string
	changed func(UnitState)
	last    UnitState
	told    bool // last was reported
}

// follow reports the state until ctx ends, or an error about the bus.
func (w *unitWatch) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx) // ends the connection as well
	defer cancel()
	bus, err := dbus.NewSystemConnectionContext(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()

	updates := make(chan *dbus.PropertiesUpdate, maxPending)
	lost := make(chan error, 1)
	bus.SetPropertiesSubscriber(updates, lost)
	if err := bus.Subscribe(); err != nil {
		return err
	}

	reread := time.NewTicker(rereadEvery)
	defer reread.Stop()
	if err := w.read(ctx, bus); err != nil {
		return err
	}

	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-updates:
			if !slices.Contains(w.names, u.UnitName) {
				continue
			}
		case <-lost: // more signals than were read in time: ask for the state
		case <-reread.C:
		}

		if err := w.read(ctx, bus); err != nil {
			return err
		}
	}
}

// read asks for the state of the unit to watch. Asking about all of them is one call.
func (w *unitWatch) read(ctx context.Context, bus *dbus.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	if !bus.Connected() {
		return errors.New("system bus: connection lost")
	}
	units, err := bus.ListUnitsByNamesContext(ctx, w.names)
	if err != nil {
		return err
	}
	w.report(w.explain(ctx, bus, choose(units)))
	return nil
}

// choose returns the first unit that runs, or, if none does, the first that is loaded. A unit that
// has failed may stand beside a unit of another name that replaces it.
func choose(units []dbus.UnitStatus) (first UnitState) {
	for _, u := range units {
		if u.LoadState != "loaded" {
			continue
		}

		s := UnitState{Unit: u.Name, Active: u.ActiveState}
		if s.Active != "failed" && s.Active != "inactive" {
			return s
		}
		if first.Unit == "" {
			first = s
		}
	}
	return first
}

// explain adds to a state how the main process ended, if the unit is in that state because of it.
func (w *unitWatch) explain(ctx context.Context, bus *dbus.Conn, s UnitState) UnitState {
	if s.Active != "activating" && s.Active != "failed" {
		return s
	}
	if p, err := bus.GetUnitTypePropertiesContext(ctx, s.Unit, "Service"); err == nil {
		s.Ended = ended(p)
	}
	return s
}

// ended returns how the main process ended, from the properties of a service that does not run. The result
// is forgotten when systemd starts the service again, but not that it did: the counter begins anew when
// somebody else starts it.
func ended(p map[string]any) string {
	result, _ := p["Result"].(string)
	restarts, _ := p["NRestarts"].(uint32)

	if result != "" && result != "success" {
		return "ended with result " + result
	}
	if restarts > 0 {
		return "has crashed"
	}
	return ""
}

func (w *unitWatch) report(s UnitState) {
	if s == w.last && w.told {
		return
	}
	w.last = s
	w.told = true
	w.changed(s)
}
