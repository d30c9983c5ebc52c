package check

import "time"

// Unit concludes from the state of the master's unit in the service manager.
// Puppet Server answers running while it drains its pool for a stop or a
// reload; systemd knows at once. A unit that is active, inactive or not there
// says nothing: the master may be run by other means, and the probe tells.
func Unit(name, activeState string, since time.Time) Finding {
	f := Finding{Check: CheckUnit, State: StateOK, Reason: OK, Value: name + " is " + activeState, Checked: since}
	out := func(h Health, r Reason, detail string) {
		f.State, f.Health, f.Reason, f.Detail = StateBad, h, r, detail
	}
	switch activeState {
	case "active":
	case "reloading", "refreshing":
		out(Warming, UnitReloading, name+" is reloading: new requests hang, then fail")
	case "activating":
		out(Warming, UnitStarting, name+" is starting")
	case "deactivating":
		out(Unhealthy, UnitStopping, name+" is stopping: it finishes what it has and takes nothing new")
	case "failed":
		out(Unhealthy, UnitFailed, name+" has failed: see journalctl -u "+name)
	default:
		f.State, f.Reason = StateNone, NotKnown
	}
	return f
}
