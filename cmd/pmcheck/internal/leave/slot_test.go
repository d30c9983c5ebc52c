package leave_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestSlot(t *testing.T) {
	now := time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)
	serving := func(mode drain.Mode, code int, since time.Duration, body string) func(*status.Status) {
		return func(s *status.Status) {
			v := &s.Services[0]
			v.Mode, v.Answer, v.ServingSince = mode, status.Answer{Code: code, Body: body}, now.Add(-since)
		}
	}
	held := func(s *status.Status) { s.Budget.Held = true }
	by := func(holder, service string, mode drain.Mode) func(*status.Status) {
		return func(s *status.Status) {
			h := drain.Hold{Holder: holder, Service: service, Mode: mode, Reason: "kernel"}
			s.Holds = append(s.Holds, h)
		}
	}
	view := func(state string) func(*status.Status) {
		return func(s *status.Status) {
			b := status.Balancer{Node: "lb1", Service: monitor.Server, Seen: now, View: &status.View{State: state}}
			s.Balancers = append(s.Balancers, b)
		}
	}
	lost := func(s *status.Status) {
		h := drain.Hold{Holder: drain.Directory, Mode: drain.Maint, Code: drain.Unreadable, Path: "/var/lib/pmcheck/holds"}
		s.Holds = append(s.Holds, h)
	}
	out := serving(drain.Drain, 503, time.Second, "drain")
	tests := []struct {
		name    string
		edits   []func(*status.Status)
		settled bool
		want    leave.SlotStep
		reason  string
	}{
		{"in service", nil, true, leave.SlotLook, ""},
		{"held", []func(*status.Status){out, by("operator", "", drain.Drain)}, false, leave.SlotRenew,
			"drain by operator: kernel"},
		{"held, and has a slot", []func(*status.Status){out, held, by("operator", "server", drain.Maint)}, true,
			leave.SlotRenew, "maint by operator: kernel"},
		{"the CA alone is held", []func(*status.Status){by("operator", "ca", drain.Drain)}, true, leave.SlotLook, ""},
		{"its directory of holds is lost, and it has a slot", []func(*status.Status){held,
			serving(drain.Maint, 503, time.Hour, "maint"), lost}, false, leave.SlotRenew, "maint by directory"},
		{"unhealthy for 59 s", []func(*status.Status){serving(drain.Ready, 503, 59*time.Second, "unhealthy: refused")}, false,
			leave.SlotLook, ""},
		{"unhealthy for a minute",
			[]func(*status.Status){serving(drain.Ready, 503, time.Minute, "unhealthy: refused")}, false,
			leave.SlotRenew, "unhealthy: refused"},
		{"claimed, and not held yet", []func(*status.Status){held}, false, leave.SlotRenew, ""},
		{"back, not settled", []func(*status.Status){held, view("UP")}, false, leave.SlotRenew, ""},
		{"back", []func(*status.Status){held, view("UP")}, true, leave.SlotReturn, ""},
		{"one balancer does not send yet", []func(*status.Status){held, view("UP"), view("NOLB")}, true,
			leave.SlotRenew, ""},
		{"ready and unhealthy", []func(*status.Status){held, serving(drain.Ready, 503, time.Second, "warming: jruby")}, true,
			leave.SlotRenew, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := status.Status{Time: now, Budget: &status.BudgetStatus{Allowed: 1, Reachable: true}}
			s.Services = []status.ServiceStatus{{Name: monitor.Server}}
			serving(drain.Ready, http.StatusOK, time.Hour, "")(&s)
			s.Services[0].ModeSince = now.Add(-time.Hour)
			for _, edit := range test.edits {
				edit(&s)
			}
			if got, reason := leave.Slot(s, test.settled); got != test.want || reason != test.reason {
				t.Errorf("got %s, %q; want %s, %q", got, reason, test.want, test.reason)
			}
		})
	}
}

func TestOverBudgetNamesTheMastersThatAreOut(t *testing.T) {
	now := time.Date(2026, 11, 22, 18, 0, 0, 0, time.Local)
	slot := status.Slot{Master: "puppet2", Since: now.Add(-3 * time.Hour), By: "alice", Reason: "kernel"}
	lapsed := slot
	lapsed.Lapsed = true
	tests := []struct {
		name    string
		budget  *status.BudgetStatus
		service string
		want    string
	}{
		{"no budget", nil, "", ""},
		{"free", &status.BudgetStatus{Allowed: 2, Out: 1, Reachable: true, Slots: []status.Slot{slot}}, "", ""},
		{"used up", &status.BudgetStatus{Allowed: 1, Out: 1, Reachable: true, Slots: []status.Slot{lapsed, slot}}, "server",
			"puppet2 is out since 15:00 (alice: kernel); 1 of 1"},
		{"the CA needs no slot",
			&status.BudgetStatus{Allowed: 1, Out: 1, Reachable: true, Slots: []status.Slot{slot}}, "ca", ""},
		{"has a slot",
			&status.BudgetStatus{Allowed: 1, Out: 1, Held: true, Reachable: true, Slots: []status.Slot{slot}}, "", ""},
		{"unreachable", &status.BudgetStatus{Allowed: 1, Error: "no answer within 2s"}, "", "no answer within 2s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := balancer.Summary(leave.OverBudget(status.Status{Time: now, Budget: test.budget}, test.service))
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A script takes the next master out as soon as this one is in service.
func TestInServiceMeansThatTheNextMasterMayLeave(t *testing.T) {
	slot := func(change ...func(*status.BudgetStatus)) func(*status.Status) {
		return func(s *status.Status) {
			s.Budget = &status.BudgetStatus{Reachable: true, Held: true, Asked: now()}
			for _, c := range change {
				c(s.Budget)
			}
		}
	}
	noDatabase := func(b *status.BudgetStatus) { b.Reachable = false }
	free := func(b *status.BudgetStatus) { b.Held = false }
	behind := func(b *status.BudgetStatus) { b.Asked = held().Add(-time.Second) }
	serves := func(s *status.Status) { s.Services[0].Answer = status.Answer{Code: http.StatusOK} }
	up := asking(func(b *status.Balancer) { b.View = &status.View{State: "UP", Weight: 1, WeightTotal: 2} })
	down := asking(func(*status.Balancer) {})
	const kept = "budget: its slot in the budget is free once it has been back for 30s"
	for _, tt := range []struct {
		name    string
		status  status.Status
		service string
		want    []string
	}{
		{"no budget", st(drain.Ready, serves, up), "", []string{}},
		{"its slot is free", st(drain.Ready, serves, up, slot(free)), "", []string{}},
		{"it still has its slot", st(drain.Ready, serves, up, slot()), "", []string{kept}},
		{"it still has its slot, and the server alone is waited for", st(drain.Ready, serves, up, slot()),
			monitor.Server, []string{kept}},
		{"the CA needs no slot", st(drain.Ready, serves, up, slot()), "ca", []string{}},
		{"the database does not answer", st(drain.Ready, serves, up, slot(noDatabase)), "", []string{}},
		{"a balancer does not send yet", st(drain.Ready, serves, down, slot()), "",
			[]string{"not-sending: lb1 does not send yet (DOWN, 0 sessions)"}},
		{"the database was not asked since", st(drain.Ready, serves, up, slot(free, behind)), "",
			[]string{kept}},
		{"the database was not asked since, and does not answer",
			st(drain.Ready, serves, up, slot(free, behind, noDatabase)), "", []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assertObstacles(t, leave.InService(tt.status, tt.service), tt.want)
			if back := tt.status.Balancers[0].View.Sends(); leave.SlotBack(tt.status) != back {
				t.Errorf("SlotBack is %v, want %v", !back, back)
			}
		})
	}
}
