package check

import (
	"cmp"
	"errors"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Reason is a short code that explains a master's state. The set is closed and safe
// to show to any client: a reason never contains outside input. Each check declares
// its own reasons, with their hints.
type Reason string

// The reasons that belong to no check.
const (
	OK       Reason = "ok"
	NotKnown Reason = "not-known" // the check could not find out
)

// Reasons returns every reason but OK, grouped by the check that gives it, in the
// order of All. NotKnown, which all checks give, is the first.
func Reasons() []Reason {
	list := []Reason{NotKnown}
	for _, c := range All() {
		for _, cause := range c.Reasons {
			list = append(list, cause.Reason)
		}
	}
	return list
}

// cause returns the Cause that a check declares for the reason. It is zero for OK, for
// NotKnown and for an undeclared reason.
func (r Reason) cause() Cause {
	for _, c := range All() {
		for _, cause := range c.Reasons {
			if cause.Reason == r {
				return cause
			}
		}
	}
	return Cause{}
}

// Hint returns what an operator can do about the reason. It is empty where the detail
// beside it is enough.
func (r Reason) Hint() string { return r.cause().Hint }

// Side returns which side is at fault.
func (r Reason) Side() Side { return cmp.Or(r.cause().Side, SideServer) }

// Side is where the cause of a fault lies.
type Side string

// The sides of a probe.
const (
	SideNetwork Side = "network" // the network path to the master, or a port that refuses
	SideOwn     Side = "own"     // this host's files and certificate
	SideServer  Side = "server"  // the master and its certificate
	SideCRL     Side = "crl"     // the certificate revocation list
	SideAuth    Side = "auth"    // the master's auth.conf
)

// Fault is why a probe did not find the master healthy. It is an error.
type Fault struct {
	Reason Reason
	Err    error // one sentence that names what failed; nil if the reason is enough
}

// faultOf returns the Fault that err wraps, or a Fault made from a puppetclient.Error
// that it wraps. It returns nil for any other error.
func faultOf(err error) *Fault {
	if fault, is := errors.AsType[*Fault](err); is {
		return fault
	}
	if e, is := errors.AsType[*puppetclient.Error](err); is {
		return &Fault{Reason(e.Reason), err}
	}
	return nil
}

// Error returns the text of f.Err, or else the bare reason.
func (f *Fault) Error() string {
	if f.Err == nil {
		return string(f.Reason)
	}
	return f.Err.Error()
}

// Unwrap returns f.Err.
func (f *Fault) Unwrap() error { return f.Err }

// Definite reports whether the fault says what is wrong. A timeout does not: the
// master may merely be slow.
func (f *Fault) Definite() bool { return f.Reason != Timeout }

// Health returns what the fault means for the master. If the fault is on this host's
// side, or in the master's auth.conf, nothing is known about the master itself.
func (f *Fault) Health() Health {
	switch side := f.Reason.Side(); {
	case side == SideOwn || side == SideAuth:
		return Unknown
	case f.Reason == StateStarting:
		return Warming
	}
	return Unhealthy
}
