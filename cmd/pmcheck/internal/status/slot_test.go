package status_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestSlot(t *testing.T) {
	has := func(s *status.Status) { s.Budget = &status.BudgetStatus{Usage: budget.Usage{Held: true}} }
	by := func(service drain.Service, mode drain.Mode) func(*status.Status) {
		return func(s *status.Status) {
			s.Holds = []drain.Hold{{Holder: "operator", Service: service, Mode: mode, Reason: "kernel"}}
		}
	}
	lost := func(s *status.Status) {
		s.Holds = []drain.Hold{{Holder: drain.Directory, Mode: drain.Maint, Code: drain.Unreadable}}
	}
	since := func(d time.Duration) func(*status.Status) {
		return func(s *status.Status) { s.Services[0].ServingSince = now().Add(-d) }
	}
	unhealthy := func(s *status.Status) { s.Services[0].Answer.Body = "unhealthy: refused" }
	up := asking(sends)
	for _, tt := range []struct {
		name   string
		status status.Status
		want   budget.Step
		reason string
	}{
		{"in service", st(drain.Ready, serves, since(time.Hour)), budget.Look, ""},
		{"held", st(drain.Drain, by("", drain.Drain)), budget.Renew, "drain by operator: kernel"},
		{"held, and has a slot", st(drain.Maint, has, by("server", drain.Maint)), budget.Renew,
			"maint by operator: kernel"},
		{"leaving, and its balancers keep it", st(drain.Drain, serves, leaving, by("", drain.Drain)), budget.Look, ""},
		{"leaving with a slot, and its balancers keep it", st(drain.Drain, serves, leaving, has, by("", drain.Drain)),
			budget.Renew, "drain by operator: kernel"},
		{"the CA alone is held", st(drain.Ready, serves, by("ca", drain.Drain)), budget.Look, ""},
		{"its directory of holds is lost", st(drain.Maint, has, lost), budget.Renew, "maint by directory"},
		{"unhealthy for 59 s", st(drain.Ready, unhealthy, since(59*time.Second)), budget.Look, ""},
		{"unhealthy for a minute", st(drain.Ready, unhealthy, since(time.Minute)), budget.Renew, "unhealthy: refused"},
		{"back, not settled", st(drain.Ready, serves, has, up, since(29*time.Second)), budget.Renew, ""},
		{"back, and a balancer does not send", st(drain.Ready, serves, has, since(30*time.Second), asking(sends), asking()),
			budget.Renew, ""},
		{"back", st(drain.Ready, serves, has, up, since(30*time.Second)), budget.Return, ""},
	} {
		if got, reason := tt.status.Slot(); got != tt.want || reason != tt.reason {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, got, reason, tt.want, tt.reason)
		}
	}
}

func TestOverBudgetNamesTheMastersThatAreOut(t *testing.T) {
	slot := budget.Slot{Master: "puppet2", Since: now().Add(-3 * time.Hour), By: "alice", Reason: "kernel"}
	lapsed := slot
	lapsed.Lapsed = true
	asked := func(allowed int, held bool) *status.BudgetStatus {
		view := budget.Usage{Allowed: allowed, Out: 1, Held: held, Slots: []budget.Slot{lapsed, slot}}
		return &status.BudgetStatus{Usage: view, Reachable: true}
	}
	used := "budget: " + slot.String() + "; 1 of 1"
	for _, tt := range []struct {
		name    string
		budget  *status.BudgetStatus
		service drain.Service
		want    string
	}{
		{"no budget", nil, "", ""},
		{"free", asked(2, false), "", ""},
		{"used up", asked(1, false), "server", used},
		{"the CA needs no slot", asked(1, false), "ca", ""},
		{"has a slot", asked(1, true), "", ""},
		{"unreachable", &status.BudgetStatus{Error: "no answer within 2s"}, "", "unknown: no answer within 2s"},
	} {
		got := texts(status.Status{Time: now(), Budget: tt.budget}.OverBudget(tt.service))
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
