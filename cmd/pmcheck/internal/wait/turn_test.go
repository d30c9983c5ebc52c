package wait_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// view is the status of a master whose balancer has other servers of that weight.
func view(at time.Time, mode drain.Mode, others int) api.Status {
	v := &api.View{State: "UP", Weight: 100, WeightTotal: 100 + others}
	if mode != drain.Ready {
		v.State, v.WeightTotal = "NOLB", others
	}
	return api.Status{
		Time:     at,
		Services: []api.ServiceStatus{{Name: monitor.Server, Mode: mode}},
		Balancers: []api.Balancer{{Node: "lb1", Service: monitor.Server, Seen: at, DrainCode: 404,
			OthersSeen: at.Add(-time.Minute), OthersWeight: 200, UnitWeight: 100, View: v}},
	}
}

func TestAfterItsTurnAMasterWaitsForThoseThatLeaveThen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)
	broken := errors.New("interrupted")
	missing := []api.Obstacle{{Kind: api.ObstacleTurn, Text: "missing"}}
	leaving := []api.Obstacle{{Kind: api.ObstacleTurn, Text: "leaving"}}
	type part struct {
		left   []api.Obstacle
		inTime bool
		err    error
	}
	for _, tt := range []struct {
		name           string
		turn, overtime part
		want           part
		overdue        bool
	}{
		{"its turn comes", part{nil, true, nil}, part{}, part{nil, true, nil}, false},
		{"interrupted", part{missing, false, broken}, part{}, part{missing, false, broken}, false},
		{"its turn comes in the overtime", part{missing, false, nil}, part{nil, true, nil}, part{missing, true, nil}, true},
		{"its turn does not come", part{missing, false, nil}, part{leaving, false, nil}, part{leaving, false, nil}, true},
		{"interrupted in the overtime", part{missing, false, nil}, part{nil, false, broken}, part{missing, false, broken},
			true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, stop := &rotation.Departure{Draw: func(int) int { return 0 }}, new(rotation.Stop)
			d.Saw(view(now, drain.Ready, 100))
			within := func(p part) func() ([]api.Obstacle, bool, error) {
				return func() ([]api.Obstacle, bool, error) { return p.left, p.inTime, p.err }
			}
			left, inTime, err := wait.InTurn(d, stop, within(tt.turn), within(tt.overtime))
			if diff := cmp.Diff(tt.want.left, left); diff != "" || inTime != tt.want.inTime || err != tt.want.err {
				t.Errorf("in time %v, error %v, want %+v %s", inTime, err, tt.want, diff)
			}
			if stop.Overdue != tt.overdue {
				t.Errorf("overdue: %v", stop.Overdue)
			}
			d.Left(now.Add(time.Second))
			if last := view(now.Add(2*time.Second), drain.Drain, 0); !rotation.Collided(d.Collision(last)) {
				t.Error("it does not see that no server is left")
			}
		})
	}
}
