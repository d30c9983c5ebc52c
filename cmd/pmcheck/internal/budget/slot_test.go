package budget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
)

func TestSlotSaysWhoIsOutAndWhy(t *testing.T) {
	since := time.Date(2026, 11, 22, 15, 4, 5, 0, time.Local)
	for want, slot := range map[string]budget.Slot{
		" (alice: kernel)":      {By: "alice", Reason: "kernel"},
		" (unhealthy: refused)": {Reason: "unhealthy: refused", Recorded: true},
		"":                      {},
		" (bob, forced)":        {By: "bob", Forced: true},
		" (forced, lapsed)":     {Forced: true, Lapsed: true},
	} {
		slot.Master, slot.Since = "puppet2", since
		if got := slot.String(); got != "puppet2 is out since 2026-11-22 15:04"+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTakenErrorNamesAFewMasters(t *testing.T) {
	v := budget.Usage{Slots: []budget.Slot{{Master: "m0", Own: true}, {Master: "m0", Lapsed: true}}}
	for _, master := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		v.Slots = append(v.Slots, budget.Slot{Master: master, Since: time.Now()})
	}
	text := (&budget.TakenError{Slots: v.Others(), Allowed: 6}).Error()
	if !strings.HasPrefix(text, "m1 is out since ") || !strings.HasSuffix(text, "; and 2 more; 6 of 6") {
		t.Errorf("error %q", text)
	}
}
