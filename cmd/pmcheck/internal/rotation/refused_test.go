package rotation_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// A command that may refuse does not drain the last server of any balancer. The guard, whose
// service stops in any case, drains for the balancer that has another one.
func TestADrainInTurnIsRefusedToTheLastServerOfAnyBalancer(t *testing.T) {
	const (
		ca      = "balancer lb1 has no other server for ca/m1: it would have none left"
		only    = "balancer lb1 has no other server for server/m1: it would have none left"
		alone   = "balancer lb1 has no other server, and a drain would only make the outage longer"
		expired = "its turn has not come, and it is the last server: balancer lb1 has had no other server for 1m"
	)
	catalogs, only1, onlyCA := asksFor(monitor.Server, 200), asksFor(monitor.Server, 100), asksFor("ca", 100)
	left := func(ago time.Duration) func(*api.Status) { // of the balancer before it
		return func(s *api.Status) {
			b := &s.Balancers[len(s.Balancers)-1]
			b.OthersWeight, b.OthersSeen, b.UnitWeight = 100, now().Add(-ago), 100
		}
	}
	held := func(s *api.Status) { s.Services[0].Mode = drain.Drain }
	other := api.OthersStatus{Serving: []string{"m2"}}
	for _, tt := range []struct {
		name    string
		service string
		status  api.Status
		atOnce  string
		late    string // when the time is over, or the way is clear
		guard   bool   // drains
	}{
		{"two masters, one CA", "", status(drain.Ready, catalogs, onlyCA), ca, ca, true},
		{"catalogs alone", monitor.Server, status(drain.Ready, catalogs, onlyCA), "", "", true},
		{"the CA alone", "ca", status(drain.Ready, catalogs, onlyCA), ca, alone, false},
		{"held for catalogs already", "", status(drain.Ready, catalogs, onlyCA, held), ca, alone, false},
		{"two of each", "", status(drain.Ready, catalogs, asksFor("ca", 200)), "", "", true},
		{"a single master", "", status(drain.Ready, only1), only, alone, false},
		{"the other one left a minute ago", "", status(drain.Ready, only1, left(time.Minute)), "", expired, false},
		{"so has the other CA", "", status(drain.Ready, catalogs, onlyCA, left(time.Minute)), "", expired, false},
		{"the other one left an hour ago", "", status(drain.Ready, only1, left(time.Hour)), "", alone, false},
		{"the other one left, and one CA", "", status(drain.Ready, only1, left(time.Minute), onlyCA),
			ca, expired, false},
		{"a gate, and one CA", "", behindGate(drain.Ready, other, onlyCA), ca, ca, true},
		{"catalogs alone behind a gate", monitor.Server, behindGate(drain.Ready, other, onlyCA), "", "", true},
		{"the last master behind gates", "", behindGate(drain.Ready, api.OthersStatus{Out: []string{"m2"}}), "",
			"no other master of the fleet serves: m2", false},
		{"no balancer", "", api.Status{}, "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := departure()
			d.Service = tt.service
			d.Saw(tt.status)
			if why := d.RefusedAtOnce(true); why != tt.atOnce {
				t.Errorf("it is refused at once because %q, want %q", why, tt.atOnce)
			}
			if why := d.Refused(rotation.Turn(tt.status, tt.service)); why != tt.late {
				t.Errorf("when its time is over, it is refused because %q, want %q", why, tt.late)
			}
			if d.Replaced() != tt.guard {
				t.Errorf("the guard drains: %v, want %v", d.Replaced(), tt.guard)
			}
		})
	}
}

// The other server may have gone while the master was out for a moment.
func TestADrainInTurnIsRefusedAfterACollisionThatLeftNoServer(t *testing.T) {
	d := departure()
	d.Waits(pair(0))
	if why := d.Refused(nil); why != "" {
		t.Errorf("with another server it is refused because %q", why)
	}
	d.Left(held())
	d.Collision(pair(time.Second, state("NOLB"), others(0)))
	d.Returned()
	if why := d.Refused(nil); why != "balancer lb1 has no other server left" {
		t.Errorf("it is refused because %q", why)
	}
}
