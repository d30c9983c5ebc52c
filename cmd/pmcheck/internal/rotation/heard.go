package rotation

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

const (
	// hearWithin is how long after its start a daemon has heard every balancer that
	// asks at all.
	hearWithin = time.Minute
	// youngFor is how long after its start a daemon may not have heard the usual
	// balancers yet.
	youngFor = 15 * time.Second
	// agentRun is how long the run of an agent may take: Puppet's runtimeout.
	agentRun = time.Hour
)

// Heard reports whether a balancer asks this master for a service. An empty service stands
// for any.
func Heard(s api.Status, service string) bool {
	return slices.ContainsFunc(s.Balancers, func(b api.Balancer) bool {
		return b.Counts() && (service == "" || b.Service == service)
	})
}

// Unheard reports whether no balancer has asked this master for as long as agents run, as far
// as a daemon can know that: one that has just started has not heard the slow ones. Without a
// balancer that is told of a hold, no agent goes elsewhere, unless the gate sends it there.
// A gate that has not looked since the hold took effect may be about to close. A balancer
// that no longer asks may have taken the master out, and agents that it has sent may still run.
func Unheard(s api.Status, since time.Time) bool {
	gated := s.Gate.Runs(s.Time) && (s.Gate.Closed || !s.Gate.Looked.After(since))
	asked := Heard(s, "") || s.Time.Sub(s.BalancerAsked) < agentRun
	return !gated && !asked && s.Time.Sub(s.Started) >= hearWithin
}

// unheard is the obstacle of a daemon that has just started and has not heard any
// balancer: there may be some that still send. A restart leaves them to the new daemon,
// but a stop and a start do not.
func unheard(s api.Status) []api.Obstacle {
	age := s.Time.Sub(s.Started)
	if Heard(s, "") || age >= youngFor {
		return nil
	}
	return []api.Obstacle{obstacle(api.ObstacleUnseen, "", "the daemon has run for %s, and no balancer has asked yet",
		text.Age(age))}
}
