package e2e_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestKillLatency kills a stand-in master again and again, right after a probe
// has found it well: the next one, which would notice too, is farther away
// than the bound.
func TestKillLatency(t *testing.T) {
	lab.Real(t)
	const repetitions = 200
	m, conf := standIn(t)
	r := serve(t, conf+"probe: {interval: 150ms, timeout: 140ms}\n")

	took := make([]time.Duration, repetitions)
	for i := range took {
		killed := time.Now()
		set(t, m, checktest.Stopped)
		r.await(http.StatusServiceUnavailable, "", 5*time.Second)
		took[i] = time.Since(killed)
		set(t, m, checktest.Running)
		r.await(http.StatusOK, answer.Serving, 5*time.Second)
	}
	slices.Sort(took)
	measured(t, "socket closed to 503, p50 of 200", took[repetitions/2])
	within(t, "socket closed to 503, p99 of 200", took[repetitions*99/100], noticeKilled)
	measured(t, "socket closed to 503, slowest of 200", took[repetitions-1])
}

func set(t *testing.T, m *checktest.Master, state checktest.State) {
	t.Helper()
	if err := m.Set(state); err != nil {
		t.Fatal(err)
	}
}
