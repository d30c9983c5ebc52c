package rotation

import (
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/systemd"
)

// Stops reports whether a service that may have agents is about to stop. A service
// without a process has died: it has no agents left, and must restart at once.
func Stops(s systemd.Service) bool {
	return s.MainPID != 0 && !Cancelled(s)
}

// Cancelled reports whether a service that was about to stop no longer is: systemctl cancel
// has removed its job, or a start has replaced it.
func Cancelled(s systemd.Service) bool {
	return s.Job != "stop" && s.Job != "restart" && s.Job != "try-restart"
}

// Overtime is the longest time that a stop waits, after the end of its turn, for servers
// that leave during that time.
const Overtime = 4 * time.Minute

// DrawOvertime returns how long a stop waits after the end of its turn: no longer than the
// turn itself. Half of it is random, so that the waits of masters that were told to stop in
// the same second do not end at the same moment.
func DrawOvertime(g config.Guard, draw func(n int) int) time.Duration {
	half := min(g.Turn, Overtime) / 2
	return half + time.Duration(draw(1000))*half/1000
}

// Stop is how far the guard of a service that is about to stop has come.
type Stop struct {
	Began   time.Time // when the stop was asked for
	Drained time.Time // when the hold took effect; zero while the guard waits for its turn
	// Overtime is how long it waits after the end of its turn, for others whose turn ended
	// with it; zero before that end.
	Overtime time.Duration
	// HostStops says since when the host has been seen to shut down; zero if it does not.
	HostStops time.Time
}

// Deadline returns when the current wait is over: the wait for the turn or, once the master
// is drained, the wait for its agents, after which the service stops anyway. A shutdown
// limits both waits together, from when it was seen, and the turn leaves a quarter of that
// for the agents of a master that is drained late.
func (s Stop) Deadline(g config.Guard) time.Time {
	end, last := s.Began.Add(g.Turn+s.Overtime), s.HostStops.Add(g.Shutdown-min(g.Wait, g.Shutdown/4))
	if !s.Drained.IsZero() {
		end, last = s.Drained.Add(g.Wait), s.HostStops.Add(g.Shutdown)
	}
	if !s.HostStops.IsZero() && last.Before(end) {
		return last
	}
	return end
}

// BudgetUntil returns until when a stop waits for a budget that cannot be asked. The rest
// of the wait is for turns without it: masters that all waited for the budget to the end
// would leave at the same moment.
func (s Stop) BudgetUntil(g config.Guard) time.Time {
	return s.Began.Add(s.Deadline(g).Sub(s.Began) / 2)
}

// Pending says why a service that is about to stop still serves.
func Pending(service string, turn []api.Obstacle) string {
	return service + " is about to stop; waits for its turn: " + api.Summary(turn)
}

// Back reports whether the master serves agents again, as a probe since a moment
// has shown. A verdict from before may be about the process that has stopped.
func Back(s api.Status, since time.Time) bool {
	server, _ := s.Service(monitor.Server)
	return server.Verdict.Health.Serves() && s.Probe.Asked.After(since)
}
