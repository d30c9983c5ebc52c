package page

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestPageShowsWhoIsOut(t *testing.T) {
	now := time.Date(2026, 11, 22, 18, 0, 0, 0, time.Local)
	slot := status.Slot{Master: "puppet2", Since: now.Add(-3 * time.Hour), By: "alice", Reason: "<kernel>"}
	s := status.Status{
		Time:     now,
		Services: []status.ServiceStatus{{Name: "server"}},
		Budget:   &status.BudgetStatus{Pool: "puppet", Out: 1, Allowed: 1, Slots: []status.Slot{slot}},
	}
	w := httptest.NewRecorder()
	if err := New().Write(w, 200, s, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Budget of the pool puppet", "1 out, 1 allowed", "the database does not answer",
		"puppet2 is out since 15:00 (alice: &lt;kernel&gt;)",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
