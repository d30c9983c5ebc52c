package budget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
)

func TestSlotSaysWhoIsOutAndWhy(t *testing.T) {
	now := time.Date(2026, 11, 22, 18, 0, 0, 0, time.Local)
	since := time.Date(2026, 11, 22, 15, 4, 5, 0, time.Local)
	tests := []struct {
		name string
		slot budget.Slot
		want string
	}{
		{"all", budget.Slot{By: "alice", Reason: "kernel"}, " (alice: kernel)"},
		{"no reason", budget.Slot{By: "alice"}, " (alice)"},
		{"recorded", budget.Slot{Reason: "unhealthy: refused", Recorded: true}, " (unhealthy: refused)"},
		{"nothing", budget.Slot{}, ""},
		{"forced", budget.Slot{By: "bob", Forced: true}, " (bob, forced)"},
		{"forced and lapsed", budget.Slot{Forced: true, Lapsed: true}, " (forced, lapsed)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.slot.Master, test.slot.Since = "puppet2", since
			want := "puppet2 is out since 15:04" + test.want
			if got := test.slot.At(now); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			want = "puppet2 is out since 2026-11-22 15:04" + test.want
			if got := test.slot.At(now.AddDate(0, 0, 1)); got != want {
				t.Errorf("a day later: got %q, want %q", got, want)
			}
		})
	}
}

func TestTakenErrorNamesAFewMasters(t *testing.T) {
	e := &budget.TakenError{Allowed: 6}
	for _, master := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		e.Slots = append(e.Slots, budget.Slot{Master: master, Since: time.Now()})
	}
	text := e.Error()
	if !strings.HasPrefix(text, "m1 is out since ") || !strings.HasSuffix(text, "; and 2 more; 6 of 6") {
		t.Errorf("error %q", text)
	}
}
