package check

import (
	"errors"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Reason is a short code that explains a master's state. The set is closed and safe
// to show to any client: a reason never contains outside input. Each check declares
// its own reasons; those of requests that fail are in package puppetclient.
type Reason = puppetclient.Reason

// The reasons that belong to no check.
const (
	OK       Reason = "ok"
	NotKnown Reason = "not-known" // the check could not find out
)

// Fault is why a probe did not find the master healthy. It is an error.
type Fault = puppetclient.Error

// Cause is a reason, with what an operator can do about it.
type Cause struct {
	Reason Reason
	Hint   string // empty where the detail beside it is enough
}

// Hint returns what an operator can do about the reason. It is empty where the detail
// beside it is enough.
func Hint(r Reason) string {
	for _, c := range All() {
		for _, cause := range c.Reasons {
			if cause.Reason == r {
				return cause.Hint
			}
		}
	}
	return ""
}

// healthOf returns what a fault of the probe means for the master. If it is on this host's side, or
// in the master's auth.conf, nothing is known about the master itself.
func healthOf(r Reason) Health {
	switch {
	case r == StateStarting:
		return Warming
	case r == AuthDenied || strings.HasPrefix(string(r), "own-"):
		return Unknown
	}
	return Unhealthy
}

// faultOf returns the Fault that err wraps, or nil.
func faultOf(err error) *Fault {
	fault, _ := errors.AsType[*Fault](err)
	return fault
}
