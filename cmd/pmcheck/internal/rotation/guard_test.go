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
	at := func(minutes int) time.Time { return held().Add(time.Duration(minutes) * time.Minute) }
	tests := []struct {
		name string
		stop rotation.Stop
		want time.Time
	}{
		{"waits for its turn", rotation.Stop{Began: at(0)}, at(5)},
		{"its turn has ended", rotation.Stop{Began: at(0), Overtime: 4 * time.Minute}, at(9)},
		{"shutdown after its turn", rotation.Stop{Began: at(0), Overtime: 4 * time.Minute, HostStops: at(5)}, at(8)},
		{"drained at once", rotation.Stop{Began: at(0), Drained: at(0)}, at(7)},
		{"drained after its turn", rotation.Stop{Began: at(0), Drained: at(5)}, at(12)},
		{"shutdown, waits for its turn", rotation.Stop{Began: at(0), HostStops: at(0)}, at(3)},
		{"shutdown, drained after its turn", rotation.Stop{Began: at(0), Drained: at(3), HostStops: at(0)}, at(4)},
		{"shutdown while it waits for its turn", rotation.Stop{Began: at(0), HostStops: at(1)}, at(4)},
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
