package rotation

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// hearWithin is how long after its start a daemon has heard every balancer that
// asks at all.
const hearWithin = time.Minute

// Heard reports whether a balancer asks this master.
func Heard(s api.Status) bool {
	return slices.ContainsFunc(s.Balancers, func(b api.Balancer) bool { return b.Counts() })
}

// Unheard reports whether no balancer asks this master, as far as a daemon can
// know that: one that has just started has not heard the slow ones. Without a
// balancer that hears of a hold, no agent goes elsewhere.
func Unheard(s api.Status) bool { return !Heard(s) && s.Time.Sub(s.Started) >= hearWithin }
