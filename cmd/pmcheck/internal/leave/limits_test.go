package leave

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// turn is how long a turn of these tests lasts.
const turn = 20 * time.Minute

// turnOf returns the limits of a stop whose turn takes that long.
func turnOf(d time.Duration) config.Guard {
	return config.Guard{Turn: d, Wait: 5 * time.Minute, Shutdown: 5 * time.Minute}
}

func TestThePhasesOfAStopEnd(t *testing.T) {
	began := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	at := func(minutes float64) time.Time { return began.Add(time.Duration(minutes * float64(time.Minute))) }
	const usual, short, none = 20 * time.Minute, 2 * time.Minute, 0
	for _, tt := range []struct {
		name  string
		turn  time.Duration
		renew []float64 // minutes at which a server came back
		outAt float64   // when the balancers had let go
		stops float64   // since when the host stops; 0 if it does not
		// When the phases end, in minutes.
		slot, out, idle float64
	}{
		{name: "a stop", turn: usual, outAt: 1, slot: 30, out: 20, idle: 6},
		{name: "a server came back", turn: usual, renew: []float64{15}, outAt: 30, slot: 45, out: 35, idle: 35},
		{name: "servers came back all the time", turn: usual, renew: []float64{239}, outAt: 239, slot: 240, out: 240,
			idle: 244},
		{name: "a short turn", turn: short, outAt: 1, slot: 12, out: 2, idle: 6},
		{name: "no turn", turn: none, slot: 0, out: 0, idle: 5},
		{name: "no turn, and the host stops", turn: none, stops: 1, outAt: 1, slot: 0, out: 0, idle: 5.5},
		{name: "the host stops", turn: usual, stops: 10, outAt: 11, slot: 12.5, out: 12.5, idle: 14.5},
		{name: "the host stops after its turn", turn: usual, stops: 22, outAt: 26, slot: 24.5, out: 20, idle: 26.5},
		{name: "the host stops, and its agents are late", turn: usual, stops: 10, outAt: 8, slot: 12.5, out: 12.5,
			idle: 13},
	} {
		limits := turnOf(tt.turn)
		p := times{began: began, turnEnd: began.Add(tt.turn)}
		for _, minutes := range tt.renew {
			p = p.renewed(tt.turn, at(minutes), LongestTurn)
		}
		p.out = at(tt.outAt)
		if tt.stops > 0 {
			p.hostStops = at(tt.stops)
		}
		for of, want := range map[Phase]float64{PhaseSlot: tt.slot, PhaseOut: tt.out, PhaseIdle: tt.idle} {
			if got := p.endOf(of, limits); !got.Equal(at(want)) {
				t.Errorf("%s: phase %d ends after %s, want %v minutes", tt.name, of, got.Sub(began), want)
			}
		}
	}
}

// TestProgressCountsOncePerServer: a server that comes back extends the turn, but one that flaps does so
// no more often than there are servers. What any client can claim counts for two hours.
func TestProgressCountsOncePerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, listed := range []bool{false, true} {
			p := times{began: time.Now(), turnEnd: time.Now().Add(turn)}
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
				time.Sleep(time.Second)
				b := status.Balancer{
					Node:         "lb1",
					UnitWeight:   100,
					OthersWeight: 200,
					OthersSeen:   time.Now(),
					Listed:       listed,
					View:         &status.View{State: "NOLB", WeightTotal: tt.others},
				}
				s := status.Status{Time: time.Now(), Balancers: []status.Balancer{{Node: "aws"}, b}}
				p = p.withViews(turn, s, time.Now())
				if progress := p.turnEnd.Equal(time.Now().Add(20 * time.Minute)); progress != tt.progress {
					t.Errorf("look %d, listed %v: progress %v", i, listed, progress)
				}
			}

			longest := untrustedTurn
			if listed {
				longest = LongestTurn
			}
			time.Sleep(time.Until(p.began.Add(longest - time.Minute)))
			for _, b := range []status.Balancer{missesOne(listed), missesNone(listed)} {
				s := status.Status{Time: time.Now(), Balancers: []status.Balancer{b}}
				p = p.withViews(turn, s, time.Now())
			}
			if got := p.turnEnd.Sub(p.began); got != longest {
				t.Errorf("listed %v: the turn is over after %s, want %s", listed, got, longest)
			}
		}
	})
}

// missesNone is a balancer with one other server, and missesOne is the same one without it.
func missesNone(listed bool) status.Balancer {
	return status.Balancer{
		Node:         "lb2",
		Listed:       listed,
		UnitWeight:   100,
		OthersWeight: 100,
		OthersSeen:   time.Now(),
		View:         &status.View{State: "NOLB", WeightTotal: 100},
	}
}

func missesOne(listed bool) status.Balancer {
	b := missesNone(listed)
	b.View = &status.View{State: "NOLB"}
	return b
}

// TestEachBalancerShowsWhatComesBack: one of them may miss the next server before another has the last one back.
func TestEachBalancerShowsWhatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		named := func(b status.Balancer, name string) status.Balancer {
			b.Name = name
			return b
		}
		p := times{began: time.Now(), turnEnd: time.Now().Add(turn)}
		for i, seen := range []struct{ turns, pool status.Balancer }{
			{missesNone(true), missesNone(true)},
			{missesOne(true), missesOne(true)},
			{missesNone(true), missesOne(true)}, // back in the backend of turns
			{missesOne(true), missesOne(true)},  // which the next one leaves
			{missesOne(true), missesNone(true)}, // before the last one is back in the pool
		} {
			time.Sleep(time.Second)
			list := []status.Balancer{named(seen.turns, "0-turn/m1"), named(seen.pool, "puppet/m1")}
			p = p.withViews(turn, status.Status{Time: time.Now(), Balancers: list}, time.Now())

			isBack := i == 2 || i == 4
			if progress := p.turnEnd.Equal(time.Now().Add(20 * time.Minute)); progress != isBack {
				t.Errorf("look %d: progress %v", i, progress)
			}
		}
	})
}

func TestASlotThatChangesHandsIsProgressOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := times{began: time.Now(), turnEnd: time.Now().Add(turn)}
		for i, master := range []string{"m2", "m2", "m3", "m2"} {
			time.Sleep(time.Second)
			p = p.withSlots(turn, []budget.Slot{{Master: master}}, time.Now())
			first := i%2 == 0
			if progress := p.turnEnd.Equal(time.Now().Add(20 * time.Minute)); progress != first {
				t.Errorf("look %d: progress %v", i, progress)
			}
		}
	})
}

// TestTheWayMustStayClear for as long as asked, from the last time that something was in it.
func TestTheWayMustStayClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clear, looks := []bool{true, false, true, true, true, true}, 0
		w := World{
			Say:    func(string) {},
			Every:  500 * time.Millisecond,
			Status: func(context.Context) (s status.Status, err error) { return s, nil },
		}
		left, err := w.waitUntilClear(t.Context(), time.Minute, time.Second, func(status.Status) []status.Blocker {
			if looks++; clear[looks-1] {
				return nil
			}
			return blocker.NotKnown(client.ErrNoDaemon)
		})
		if left != nil || err != nil || looks != 5 {
			t.Errorf("after %d looks: %v, %v", looks, left, err)
		}
	})
}
