package leave_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// TestKeepSlot has what the daemon does about the slot of its master, by its status.
func TestKeepSlot(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 5, 0, 0, time.UTC)
	type change = func(*status.Status)
	master := func(mode drain.Mode, changes ...change) status.Status {
		s := status.Status{
			Time:     now,
			Services: []status.ServiceStatus{{Name: drain.Master, Mode: mode, Answer: status.Answer{Code: 503}}},
		}
		for _, f := range changes {
			f(&s)
		}
		return s
	}
	serves := func(s *status.Status) { s.Services[0].Answer.Code = 200 }
	leaving := func(s *status.Status) { s.Services[0].Departure.Leaving = drain.LeavingInTurn }
	unhealthy := func(s *status.Status) { s.Services[0].Answer.Body = "unhealthy: refused" }
	down := func(s *status.Status) {
		s.Services[0].Departure.Return = blocker.Only(blocker.Balancer, "lb1 does not send yet")
	}
	has := func(s *status.Status) { s.Budget = &status.BudgetStatus{Usage: budget.Usage{HasSlot: true}} }
	by := func(service drain.Service, mode drain.Mode) change {
		return func(s *status.Status) {
			s.Holds = []drain.Hold{{Holder: "operator", Service: service, Mode: mode, Reason: "kernel"}}
		}
	}
	lost := func(s *status.Status) {
		s.Holds = []drain.Hold{{Holder: drain.Directory, Mode: drain.Maint, Code: drain.Unreadable}}
	}
	since := func(d time.Duration) change {
		return func(s *status.Status) { s.Services[0].InServiceSince = now.Add(-d) }
	}
	for _, tt := range []struct {
		name   string
		status status.Status
		want   budget.Step
		reason string
	}{
		{"in service", master(drain.Ready, serves, since(time.Hour)), budget.Look, ""},
		{"held", master(drain.Drain, by("", drain.Drain)), budget.Renew, "drain by operator: kernel"},
		{"held, and has a slot", master(drain.Maint, has, by("server", drain.Maint)), budget.Renew,
			"maint by operator: kernel"},
		{"leaving, and its balancers keep it", master(drain.Drain, serves, leaving, by("", drain.Drain)),
			budget.Look, ""},
		{"leaving with a slot, and its balancers keep it",
			master(drain.Drain, serves, leaving, has, by("", drain.Drain)), budget.Renew, "drain by operator: kernel"},
		{"the CA alone is held", master(drain.Ready, serves, by("ca", drain.Drain)), budget.Look, ""},
		{"its directory of holds is lost", master(drain.Maint, has, lost), budget.Renew, "maint by directory"},
		{"unhealthy for 59 s", master(drain.Ready, unhealthy, since(59*time.Second)), budget.Look, ""},
		{"unhealthy for a minute", master(drain.Ready, unhealthy, since(time.Minute)), budget.Renew,
			"unhealthy: refused"},
		{"back, not settled", master(drain.Ready, serves, has, since(29*time.Second)), budget.Renew, ""},
		{"back, and a balancer does not send", master(drain.Ready, serves, has, since(30*time.Second), down),
			budget.Renew, ""},
		{"back", master(drain.Ready, serves, has, since(30*time.Second)), budget.Return, ""},
	} {
		if got, reason := leave.KeepSlot(tt.status); got != tt.want || reason != tt.reason {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, got, reason, tt.want, tt.reason)
		}
	}
}
