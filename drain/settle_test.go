package drain_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestSettleNeedsTheConditionWithoutABreak(t *testing.T) {
	now := time.Now()
	at := func(seconds float64) time.Time { return now.Add(time.Duration(seconds * float64(time.Second))) }
	s := drain.Settle{After: time.Second}
	for _, step := range []struct {
		at    float64
		clear bool
		want  bool
	}{{0, true, false}, {0.9, true, false}, {0.95, false, false}, {1.5, true, false}, {2.4, true, false},
		{2.5, true, true}, {2.6, true, true}, {2.7, false, false}} {
		if got := s.Observe(step.clear, at(step.at)); got != step.want {
			t.Errorf("after %g s: %v, want %v", step.at, got, step.want)
		}
	}
}
