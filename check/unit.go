package check

import (
	"cmp"
	"slices"
	"time"
)

// The name of the check, and its reasons.
const (
	CheckUnit = "unit"

	UnitReloading Reason = "unit-reloading"
	UnitStarting  Reason = "unit-starting"
	UnitStopping  Reason = "unit-stopping"
	UnitStopped   Reason = "unit-stopped"
	UnitFailed    Reason = "unit-failed"
	UnitCrashed   Reason = "unit-crashed"
)

// UnitSettings name the master's service in systemd.
type UnitSettings struct {
	// Names are tried one after the other; the first that runs is watched, else the first that is loaded. The suffix
	// .service may be left out.
	Names []string `yaml:"names"`
}

func unit() Check {
	names := []string{"puppetserver.service", "pe-puppetserver.service", "puppet-master.service"}
	return Check{
		Name:     CheckUnit,
		Severity: Eject,
		Reasons: slices.Concat(
			causes(OfMaster, Warming, "systemd reports another state",
				row{
					reason: UnitReloading,
					begins: "systemd reloads the unit",
					hint:   "wait; a reload closes the port: next time run pmcheck drain --wait before it",
				},
				row{
					reason: UnitStarting,
					begins: "systemd starts the unit",
					hint:   "wait until it has started",
				},
				row{
					reason: UnitCrashed,
					begins: "its process ended by itself, and systemd starts it again",
					hint:   "wait; then find out why: journalctl -u UNIT, dmesg, hs_err_pid*.log in its working directory",
				},
			),
			causes(OfMaster, Unhealthy, "systemd reports another state",
				row{
					reason: UnitStopping,
					begins: "systemd stops the unit",
					hint:   "wait; pmcheck drain --wait before a stop, or the guard, loses no agent run",
				},
				row{
					reason: UnitStopped,
					begins: "the unit is stopped, and the probe fails",
					hint:   "systemctl start UNIT, as the detail names it",
				},
				row{
					reason: UnitFailed,
					begins: "the unit has failed",
					hint:   "journalctl -u UNIT, as the detail names it, then systemctl restart UNIT",
				},
			),
		),
		Needs: Needs{ // D-Bus
			Families: []string{"AF_UNIX"},
			Paths:    []string{"/run/dbus/system_bus_socket"},
		},
		Settings: UnitSettings{Names: names},
	}
}

// Unit returns the settings of the check unit.
func (l List) Unit() UnitSettings { return settingsOf[UnitSettings](l) }

// Unit returns the finding for the state of the master's unit in systemd. ended says
// how the unit's main process ended, and is empty if it ended as planned. A unit that
// is active or missing says nothing. A unit that is inactive only explains why the probe
// fails, since the master may be run by other means, unless another answers, which is not
// the unit as far as is known.
func Unit(name, activeState, ended string, another bool, since time.Time) Finding {
	f := Finding{Check: CheckUnit, State: StateOK, Reason: OK, Value: name + " is " + activeState, Checked: since}
	out := func(h Health, r Reason, detail string) {
		f.State = StateBad
		f.Health = h
		f.Reason = r
		f.Detail = detail
	}

	switch activeState {
	case "active":
	case "reloading", "refreshing": // a Type=notify-reload has it in reload-signal and reload-notify, too
		out(Warming, UnitReloading, name+" is reloading: new requests hang, then fail")
	case "activating":
		if ended != "" {
			out(Warming, UnitCrashed, name+" "+ended+"; systemd starts it again")
		} else {
			out(Warming, UnitStarting, name+" is starting")
		}
	case "deactivating":
		out(Unhealthy, UnitStopping, name+" is stopping: it finishes what it has and takes nothing new")
	case "failed":
		out(Unhealthy, UnitFailed, name+" "+cmp.Or(ended, "has failed")+": see journalctl -u "+name)
	case "inactive":
		out(Unhealthy, UnitStopped, name+" is stopped")
		if another {
			f.Detail += ", and anything that answers is not its: if that is the master, set unit.names or probe.address"
		} else {
			f.State = StateNone
		}
	default:
		f.State = StateNone
		f.Reason = NotKnown
	}
	return f
}
