package systemd

import (
	"context"
	"errors"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"
)

// UnitState is the state of a unit, in systemd's own words. The zero value says that
// nothing is known: there is no systemd, no D-Bus, or no such unit.
type UnitState struct {
	Unit   string // its name, puppetserver.service
	Active string // such as active, reloading or failed
	// Ended says how the main process ended, if not as planned: "ended with result oom-kill". It stays until the
	// unit is active or stops.
	Ended string
	// Ran is set if the unit has been started since the host booted. systemd forgets this once the unit is stopped, if it
	// is not enabled.
	Ran bool
	// Cgroup is the id of the control group of its processes, as the kernel has it for their sockets; 0 while it has
	// none, or if that is not known. The id changes with each start.
	Cgroup uint64
	// User is the id of the user that it runs as; 0 if that is root, or not known.
	User uint32
	// Guarded is set if its guard, see GuardUnit, takes the master out before the unit stops.
	Guarded bool
}

// Runs reports whether the unit is started, or is about to be.
func (s UnitState) Runs() bool { return s.Unit != "" && s.Active != "inactive" && s.Active != "failed" }

// GuardUnit returns the name of the unit that guards a service: its stop runs before that of the service.
func GuardUnit(service string) string { return "pmcheck-guard@" + serviceUnit(service) }

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
		w.services = append(w.services, serviceUnit(name))
		w.guards = append(w.guards, GuardUnit(name))
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
	services []string // names of the units
	guards   []string // of the guard of each
	changed  func(UnitState)
	last     UnitState
	told     bool // last was reported
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
			if !slices.Contains(w.services, u.UnitName) && !slices.Contains(w.guards, u.UnitName) {
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

// read asks for the state of the unit to watch. Asking about all of them is one call. A guard is listed if it is
// loaded, and not loaded by being asked for: each guard that systemd loads, and drops again, sends a signal, which
// would be asked about at once.
func (w *unitWatch) read(ctx context.Context, bus *dbus.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	if !bus.Connected() {
		return errors.New("system bus: connection lost")
	}
	units, err := bus.ListUnitsByNamesContext(ctx, w.services)
	if err != nil {
		return err
	}
	chosen := choose(units)
	if chosen.Unit != "" {
		guards, err := bus.ListUnitsByPatternsContext(ctx, nil, []string{pattern(GuardUnit(chosen.Unit))})
		if err != nil {
			return err
		}
		chosen.Guarded = isGuarded(guards)
	}
	w.report(describe(ctx, bus, chosen))
	return nil
}

// choose returns the first service that runs, or, if none does, the first that is loaded. A unit that
// has failed may stand beside a unit of another name that replaces it.
func choose(units []dbus.UnitStatus) (first UnitState) {
	for _, u := range units {
		if u.LoadState != "loaded" {
			continue
		}

		s := UnitState{Unit: u.Name, Active: u.ActiveState}
		if s.Active == "inactive" && u.JobType == "start" {
			s.Active = "activating" // once the units before it are, as while the host boots
		}
		if s.Runs() {
			return s
		}
		if first.Unit == "" {
			first = s
		}
	}
	return first
}

// isGuarded reports whether a guard would take the master out, or does so now. A guard that is still activating waits
// for the service to start, and systemd would not run its stop.
func isGuarded(guards []dbus.UnitStatus) bool {
	return slices.ContainsFunc(guards, func(u dbus.UnitStatus) bool {
		return u.ActiveState == "active" || u.ActiveState == "deactivating"
	})
}

// pattern returns the pattern, of fnmatch(3), of one name. Of what is special in a pattern, a name of a unit can have
// the backslash, as in systemd's escapes.
func pattern(name string) string { return strings.ReplaceAll(name, `\`, `\\`) }

// describe adds to a state what the name and the state of a unit do not say.
func describe(ctx context.Context, bus *dbus.Conn, s UnitState) UnitState {
	if s.Unit == "" {
		return s
	}
	s = explain(ctx, bus, s)

	if p, err := bus.GetUnitPropertyContext(ctx, s.Unit, "InactiveExitTimestampMonotonic"); err == nil {
		since, _ := p.Value.Value().(uint64)
		s.Ran = since > 0 || s.Runs()
	}
	if p, err := bus.GetServicePropertyContext(ctx, s.Unit, "ControlGroup"); err == nil {
		path, _ := p.Value.Value().(string)
		s.Cgroup = cgroupID(path)
	}
	if p, err := bus.GetServicePropertyContext(ctx, s.Unit, "User"); err == nil {
		name, _ := p.Value.Value().(string)
		s.User = userID(name)
	}
	return s
}

// explain adds to a state how the main process ended, if the unit is in that state because of it.
func explain(ctx context.Context, bus *dbus.Conn, s UnitState) UnitState {
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
		return "has ended"
	}
	return ""
}

// cgroupID returns the kernel's id of a control group of version 2, which systemd names by its path; 0 if there is no
// such group. The id is the inode number of the group's directory. On a host that has groups of version 1 as well, the
// groups of version 2 have a root of their own.
func cgroupID(path string) uint64 {
	if path == "" {
		return 0
	}
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		dir := filepath.Join(root, path)
		var system unix.Statfs_t
		if unix.Statfs(dir, &system) != nil || system.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}

		var group unix.Stat_t
		if unix.Stat(dir, &group) == nil {
			return group.Ino
		}
	}
	return 0
}

// userID returns the id of a user by name or number; 0 if it is not known.
func userID(name string) uint32 {
	text := name
	if found, err := user.Lookup(name); err == nil {
		text = found.Uid
	}
	id, _ := strconv.ParseUint(text, 10, 32)
	return uint32(id)
}

func (w *unitWatch) report(s UnitState) {
	if s == w.last && w.told {
		return
	}
	w.last = s
	w.told = true
	w.changed(s)
}
