package rotation

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/systemd"
)

// Stops reports whether a service that may have agents is about to stop. A service
// without a process has died: it has no agents left, and must restart at once.
func Stops(s systemd.Service) bool {
	return !Died(s) && !Cancelled(s)
}

// Cancelled reports whether a service that was about to stop no longer is: systemctl cancel
// has removed its job, or a start has replaced it.
func Cancelled(s systemd.Service) bool {
	return s.Job != "stop" && s.Job != "restart" && s.Job != "try-restart"
}

// Died reports whether a service that was about to stop has lost its process. Its job is then
// done, or waits to start the service. A service that runs without a main process has several:
// systemd does not say that it runs once the main process, or the last one, is gone.
func Died(s systemd.Service) bool {
	runs := []string{"running", "reload", "reload-signal", "reload-notify"}
	return s.MainPID == 0 && !slices.Contains(runs, s.SubState)
}

// Overtime is the longest time that a stop waits, after the end of its turn, for servers
// that leave during that time.
const Overtime = 4 * time.Minute

// stopTime is what a shutdown leaves for the stop of a service that has not been drained.
const stopTime = time.Minute

// Stop is how far the guard of a service that is about to stop has come.
type Stop struct {
	Began   time.Time // when the stop was asked for
	Drained time.Time // when the hold took effect; zero while the guard waits for its turn
	// Lot is a random number below 1, so that the turns of masters that were told to stop in
	// the same second do not end at the same moment.
	Lot float64
	// Overdue means that its turn has ended: it waits only for servers that leave from then on.
	Overdue bool
	// Last means that the time for that is over, too, and that balancers would have no server
	// left without this one. While the host shuts down, it serves on.
	Last bool
	// HostStops says since when the host has been seen to shut down; zero if it does not.
	HostStops time.Time
}

// Deadline returns when the current wait is over: the wait for the turn, the overtime or,
// once the master is drained, the wait for its agents, after which the service stops anyway.
// A shutdown limits all of them together, from when it was seen. It leaves a quarter of that
// for the agents of a master that is drained late, and the overtime is part of the turn.
func (s Stop) Deadline(g config.Guard) time.Time {
	turn := g.Shutdown - min(g.Wait, g.Shutdown/4)
	end, last := s.Began.Add(g.Turn), turn-s.overtime(min(turn, Overtime)/2)
	if s.Overdue {
		end, last = end.Add(s.overtime(g.Turn)), turn
	}
	switch {
	case !s.Drained.IsZero():
		end, last = s.Drained.Add(g.Wait), g.Shutdown
	case s.Last && g.Turn > 0:
		return s.HostStops.Add(g.Shutdown - min(stopTime, g.Shutdown/10))
	}
	if limit := s.HostStops.Add(last); !s.HostStops.IsZero() && limit.Before(end) {
		return limit
	}
	return end
}

// overtime returns how long the stop waits after the end of its turn: no longer than most, of
// which half is random.
func (s Stop) overtime(most time.Duration) time.Duration {
	half := min(most, Overtime) / 2
	return half + time.Duration(s.Lot*float64(half))
}

// BudgetUntil returns until when a stop waits for a budget that cannot be asked. The rest
// of the wait, a quarter to a half, is for turns without it: masters that all waited for the
// budget to the end would leave at the same moment. So would those whose balancers send no
// view, and which therefore have no turns, if this moment was the same for all.
func (s Stop) BudgetUntil(g config.Guard) time.Time {
	quarter := s.Deadline(g).Sub(s.Began) / 4
	// During a shutdown the deadline is the earlier the higher the lot is, and so is this.
	return s.Began.Add(2*quarter + time.Duration((1-s.Lot)*float64(quarter)))
}

// SlotUntil returns until when a stop waits for a slot in the budget that others have, before
// it goes on without one. Masters that were told to stop in the same second do not do so at
// the same moment, since without views of balancers there are no windows to keep them apart.
func (s Stop) SlotUntil(g config.Guard) time.Time {
	half := min(g.Turn, Overtime) / 2 // the rest is for servers that leave in the meantime
	s.Began = s.Began.Add(time.Duration(s.Lot * float64(half)))
	s.Overdue, s.Last = false, false
	return s.Deadline(g)
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
