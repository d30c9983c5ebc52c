package drain_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestSettleNeedsTheConditionWithoutABreak(t *testing.T) {
	s := drain.Settle{After: 10 * time.Hour}
	for _, step := range []struct {
		at    int
		clear bool
		want  bool
	}{{0, true, false}, {8, true, false}, {9, false, false}, {15, true, false}, {24, true, false}, {25, true, true}} {
		if got := s.Observe(step.clear, hours(step.at)); got != step.want {
			t.Errorf("after %d h: %v, want %v", step.at, got, step.want)
		}
	}
}
