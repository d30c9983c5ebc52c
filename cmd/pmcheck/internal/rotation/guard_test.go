package rotation_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

func TestStops(t *testing.T) {
	tests := []struct {
		name    string
		service systemd.Service
		want    bool
	}{
		{"no job: the guard alone is stopped", systemd.Service{MainPID: 7}, false},
		{"stop", systemd.Service{MainPID: 7, Job: "stop"}, true},
		{"restart", systemd.Service{MainPID: 7, Job: "restart"}, true},
		{"restart if active", systemd.Service{MainPID: 7, Job: "try-restart"}, true},
		{"start", systemd.Service{MainPID: 7, Job: "start"}, false},
		{"reload", systemd.Service{MainPID: 7, Job: "reload"}, false},
		{"stop, and systemd knows no main process", systemd.Service{SubState: "running", Job: "stop"}, true},
		{"restart during a reload, of the same", systemd.Service{SubState: "reload", Job: "restart"}, true},
		{"restart of a server that died", systemd.Service{Job: "restart"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rotation.Stops(tt.service); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	for job, want := range map[string]bool{"stop": false, "restart": false, "try-restart": false, "": true,
		"start": true} {
		if got := rotation.Cancelled(systemd.Service{Job: job}); got != want {
			t.Errorf("job %q: %v, want %v", job, got, want)
		}
	}
}

func TestDeadlineOfAStop(t *testing.T) {
	limits := config.Guard{Turn: 5 * time.Minute, Wait: 7 * time.Minute, Shutdown: 4 * time.Minute}
	at := func(minutes float64) time.Time { return held().Add(time.Duration(minutes * float64(time.Minute))) }
	overdue := func(s rotation.Stop) rotation.Stop { s.Overdue = true; return s }
	last := func(s rotation.Stop) rotation.Stop { s.Last = true; return overdue(s) }
	tests := []struct {
		name string
		stop rotation.Stop
		want time.Time
	}{
		{"waits for its turn", rotation.Stop{Began: at(0)}, at(5)},
		{"its turn has ended", overdue(rotation.Stop{Began: at(0)}), at(7)},
		{"the same with the highest lot", overdue(rotation.Stop{Began: at(0), Lot: 1}), at(9)},
		{"drained at once", rotation.Stop{Began: at(0), Drained: at(0)}, at(7)},
		{"drained after its turn", overdue(rotation.Stop{Began: at(0), Drained: at(5)}), at(12)},
		{"shutdown, waits for its turn", rotation.Stop{Began: at(0), HostStops: at(0)}, at(2.25)},
		{"the same with the highest lot", rotation.Stop{Began: at(0), HostStops: at(0), Lot: 1}, at(1.5)},
		{"shutdown, its turn has ended", overdue(rotation.Stop{Began: at(0), HostStops: at(0)}), at(3)},
		{"shutdown, would leave no server", last(rotation.Stop{Began: at(0), HostStops: at(0)}), at(3.6)},
		{"the same, at the end of its overtime", last(rotation.Stop{Began: at(0), HostStops: at(4)}), at(7.6)},
		{"shutdown after its turn", overdue(rotation.Stop{Began: at(0), HostStops: at(5), Lot: 1}), at(8)},
		{"shutdown, drained after its turn", overdue(rotation.Stop{Began: at(0), Drained: at(3), HostStops: at(0)}), at(4)},
		{"shutdown while it waits for its turn", rotation.Stop{Began: at(0), HostStops: at(1)}, at(3.25)},
		{"shutdown while it waits for agents", rotation.Stop{Began: at(0), Drained: at(1), HostStops: at(2)}, at(6)},
		{"shutdown when the time is nearly over", rotation.Stop{Began: at(0), HostStops: at(4)}, at(5)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.stop.Deadline(limits); !got.Equal(tt.want) {
				t.Errorf("%v, want %v", got.Sub(held()), tt.want.Sub(held()))
			}
		})
	}
}

func TestAStopWithoutASlotWaitsForARandomTime(t *testing.T) {
	limits := config.Guard{Turn: 20 * time.Minute, Wait: 5 * time.Minute, Shutdown: 4 * time.Minute}
	at := func(minutes float64) time.Time { return held().Add(time.Duration(minutes * float64(time.Minute))) }
	for _, tt := range []struct {
		name string
		stop rotation.Stop
		turn time.Duration
		want time.Time
	}{
		{"the lowest lot", rotation.Stop{Began: at(0), Overdue: true}, limits.Turn, at(20)},
		{"the highest lot", rotation.Stop{Began: at(0), Overdue: true, Lot: 1}, limits.Turn, at(22)},
		{"a short turn", rotation.Stop{Began: at(0), Overdue: true, Lot: 0.5}, time.Minute, at(1.25)},
		{"no turn", rotation.Stop{Began: at(0), Overdue: true, Lot: 1}, 0, at(0)},
		{"shutdown, where turns end at random", rotation.Stop{Began: at(0), HostStops: at(0), Overdue: true, Lot: 1},
			limits.Turn, at(1.5)},
		{"the same, last server", rotation.Stop{Began: at(0), HostStops: at(0), Overdue: true, Last: true, Lot: 1},
			limits.Turn, at(1.5)},
		{"shutdown after its turn", rotation.Stop{Began: at(0), HostStops: at(20.5), Overdue: true, Lot: 0.5}, limits.Turn,
			at(21)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := limits
			g.Turn = tt.turn
			got := tt.stop.SlotUntil(g)
			if !got.Equal(tt.want) {
				t.Errorf("%v, want %v", got.Sub(held()), tt.want.Sub(held()))
			}
			if rest := tt.stop.Deadline(g).Sub(got); rest < min(tt.turn, rotation.Overtime)/4 {
				t.Errorf("%v are left for servers that leave in the meantime", rest)
			}
		})
	}
}

// With the defaults, masters that reboot together and wait for the same server do not give
// up their turn in the same second, and have time to see who leaves first.
func TestAShutdownEndsTurnsOneAfterTheOther(t *testing.T) {
	g := config.Default().Guard
	first := rotation.Stop{Began: held(), HostStops: held(), Lot: 0.6}
	second := rotation.Stop{Began: held(), HostStops: held(), Lot: 0.4}
	if apart := second.Deadline(g).Sub(first.Deadline(g)); apart < 10*time.Second {
		t.Errorf("their turns end %v apart", apart)
	}
	overdue := second
	overdue.Overdue = true
	if wait := overdue.Deadline(g).Sub(second.Deadline(g)); wait < 56*time.Second {
		t.Errorf("after its turn it waits %v for those that leave then", wait)
	}
	last := overdue
	last.Last = true
	if wait := last.Deadline(g).Sub(held()); wait != g.Shutdown-30*time.Second {
		t.Errorf("the last server serves for %v", wait)
	}
	g.Turn = 0
	if wait := last.Deadline(g).Sub(held()); wait != 0 {
		t.Errorf("without a turn, the last server waits %v", wait)
	}
}

func TestPendingNamesTheFirstObstacles(t *testing.T) {
	turn := func(texts ...string) (list []api.Obstacle) {
		for _, text := range texts {
			list = append(list, api.Obstacle{Kind: api.ObstacleTurn, Text: text})
		}
		return list
	}
	const about = "puppetserver is about to stop; waits for its turn: "
	for want, obstacles := range map[string][]api.Obstacle{
		about + "a":                      turn("a"),
		about + "a; b":                   turn("a", "b"),
		about + "a; b; c; d; and 1 more": turn("a", "b", "c", "d", "e"),
	} {
		if got := rotation.Pending("puppetserver", obstacles); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBack(t *testing.T) {
	with := func(health check.Health, asked time.Duration) api.Status {
		return status(drain.Drain, func(s *api.Status) {
			s.Services[0].Verdict.Health, s.Probe.Asked = health, held().Add(asked)
		})
	}
	tests := []struct {
		name   string
		status api.Status
		want   bool
	}{
		{"healthy", with(check.Healthy, time.Second), true},
		{"busy", with(check.Busy, time.Second), true},
		{"warming", with(check.Warming, time.Second), false},
		{"unhealthy", with(check.Unhealthy, time.Second), false},
		{"healthy before the start", with(check.Healthy, -time.Second), false},
		{"nothing is known", api.Status{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rotation.Back(tt.status, held()); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestUnheard(t *testing.T) {
	running := func(d time.Duration) func(*api.Status) {
		return func(s *api.Status) { s.Started = s.Time.Add(-d) }
	}
	tests := []struct {
		name   string
		status api.Status
		want   bool
	}{
		{"no balancer for a minute", status(drain.Drain, running(time.Minute)), true},
		{"a daemon that has just started", status(drain.Drain, running(59*time.Second)), false},
		{"a balancer", status(drain.Drain, running(time.Hour), asking(func(*api.Balancer) {})), false},
		{"a balancer that asked long ago, as one does that has the master in MAINT", status(drain.Drain,
			running(time.Hour), func(s *api.Status) { s.BalancerAsked = s.Time.Add(-50 * time.Minute) }), false},
		{"a balancer that asked before any run of an agent began", status(drain.Drain,
			running(time.Hour), func(s *api.Status) { s.BalancerAsked = s.Time.Add(-time.Hour) }), true},
		{"a closed gate", status(drain.Drain, running(time.Hour), gate(true, time.Minute)), false},
		{"a gate that has not looked yet", status(drain.Drain, running(time.Hour), lookedBefore), false},
		{"a gate that stays open", status(drain.Drain, running(time.Hour), gate(false, time.Minute)), true},
		{"a gate that hangs", status(drain.Drain, running(time.Hour), gate(true, time.Second)), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rotation.Unheard(tt.status, held()); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
