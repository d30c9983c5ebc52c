package leave

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestPhasesEnd(t *testing.T) {
	began := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	at := func(minutes float64) time.Time { return began.Add(time.Duration(minutes * float64(time.Minute))) }
	stop := &config.Guard{Turn: 20 * time.Minute, Wait: 5 * time.Minute, Shutdown: 5 * time.Minute}
	short := &config.Guard{Turn: 2 * time.Minute, Wait: 5 * time.Minute, Shutdown: 5 * time.Minute}
	none := &config.Guard{Wait: 5 * time.Minute, Shutdown: 5 * time.Minute}
	for _, tt := range []struct {
		name               string
		p                  patience
		turn, insist, idle float64
	}{
		{"a command", patience{limit: 5 * time.Minute}, 5, 5, 5},
		{"a stop", patience{stop: stop, told: at(1)}, 20, 24, 6},
		{"a server came back", patience{stop: stop, progress: at(15), told: at(30)}, 35, 39, 35},
		{"servers came back all the time", patience{stop: stop, progress: at(239), told: at(239)}, 240, 244, 244},
		{"a short turn", patience{stop: short, told: at(1)}, 2, 4, 6},
		{"no turn", patience{stop: none}, 0, 0, 5},
		{"no turn, and the host stops", patience{stop: none, hostStops: at(1), told: at(1)}, 0, 0, 5.5},
		{"the host stops", patience{stop: stop, hostStops: at(10), told: at(11)}, 12.5, 14.5, 14.5},
		{"the host stops after its turn", patience{stop: stop, hostStops: at(22), told: at(26)}, 20, 26.5, 26.5},
		{"the host stops, and its agents are late", patience{stop: stop, hostStops: at(10), told: at(8)}, 12.5, 14.5, 13},
	} {
		tt.p.began = began
		if tt.p.progress.IsZero() {
			tt.p.progress = began
		}
		if tt.p.told.IsZero() {
			tt.p.told = began
		}
		for phase, want := range map[phase]float64{phaseTurn: tt.turn, phaseInsist: tt.insist, phaseIdle: tt.idle} {
			if got := tt.p.end(phase); !got.Equal(at(want)) {
				t.Errorf("%s: phase %d ends after %s, want %v minutes", tt.name, phase, got.Sub(began), want)
			}
		}
	}
}

// TestProgressCountsOncePerServer: a server that comes back extends the turn, but one that flaps does so
// no more often than there are servers.
func TestProgressCountsOncePerServer(t *testing.T) {
	now, p := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC), patience{}
	for i, tt := range []struct {
		others   int
		progress bool
	}{
		{200, false},
		{100, false},
		{107, false}, // it returns gradually
		{160, true},
		{200, false},
		{100, false}, // another leaves and returns
		{200, true},
		{100, false}, // it flaps
		{200, false},
	} {
		now = now.Add(time.Second)
		b := status.Balancer{Node: "lb1", UnitWeight: 100, OthersWeight: 200, OthersSeen: now}
		b.View = &status.View{State: "NOLB", WeightTotal: tt.others}
		p.note(status.Status{Time: now, Balancers: []status.Balancer{{Node: "aws"}, b}}, now)
		if p.progress.Equal(now) != tt.progress {
			t.Errorf("look %d: progress %v", i, !tt.progress)
		}
	}
}

func TestASlotThatChangesHandsIsProgressOnce(t *testing.T) {
	now, p := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC), patience{slots: map[string]bool{}}
	for i, master := range []string{"m2", "m2", "m3", "m2"} {
		now = now.Add(time.Second)
		p.noteSlots([]budget.Slot{{Master: master}}, now)
		if first := i%2 == 0; p.progress.Equal(now) != first {
			t.Errorf("look %d: progress %v", i, !first)
		}
	}
}

// TestTheWayMustStayClear for as long as asked, from the last time that something was in it.
func TestTheWayMustStayClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clear, looks := []bool{true, false, true, true, true, true}, 0
		w := World{Say: func(string) {}}
		over := func() bool { return looks == len(clear) }
		left, err := w.wait(t.Context(), over, time.Second, func(context.Context) ([]status.Obstacle, error) {
			time.Sleep(500 * time.Millisecond)
			if looks++; clear[looks-1] {
				return nil, nil
			}
			return unknown(status.ErrNoDaemon), nil
		})
		if left != nil || err != nil || looks != 5 {
			t.Errorf("after %d looks: %v, %v", looks, left, err)
		}
	})
}
