package budget

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestAKeeperAsksAgain(t *testing.T) {
	hour, minute := config.Budget{Lapse: time.Hour}, config.Budget{Lapse: time.Minute}
	for _, tt := range []struct {
		name     string
		settings config.Budget
		step     Step
		known    Status
		want     time.Duration
	}{
		{"every minute", hour, Look, Status{Reachable: true}, time.Minute},
		{"six times before a claim lapses", minute, Renew, Status{Reachable: true, View: View{Held: true}}, 10 * time.Second},
		{"soon, if it was not answered", hour, Renew, Status{View: View{Held: true}}, 10 * time.Second},
		{"soon, if its claim is too young to return", hour, Return, Status{Reachable: true, View: View{Held: true}}, Settle},
		{"no sooner, once it is returned", hour, Return, Status{Reachable: true}, time.Minute},
	} {
		k := &Keeper{settings: tt.settings}
		if got := k.pause(tt.step, tt.known); got != tt.want {
			t.Errorf("%s: after %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTheLastAnswerStays while the database does not answer, and the status says since when.
func TestTheLastAnswerStays(t *testing.T) {
	k := &Keeper{settings: config.Budget{Pool: "eu"}}
	view := View{Allowed: 1, Out: 1, Slots: []Slot{{Master: "puppet2"}}}

	first := k.learn(Status{}, view, nil)
	later := k.learn(first, View{Allowed: 1}, nil)
	lost := k.learn(first, View{}, errors.New("no answer within 2s"))
	back := k.learn(lost, view, nil)

	want := Status{Pool: "eu", View: view, Reachable: true, Since: first.Asked, Asked: first.Asked}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first answer: %s", diff)
	}
	if later.Out != 0 || later.Since != first.Since {
		t.Errorf("the next answer: %+v", later)
	}
	want = Status{Pool: "eu", View: view, Since: lost.Asked, Asked: lost.Asked, Error: "no answer within 2s"}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Errorf("without an answer: %s", diff)
	}
	if !back.Reachable || back.Error != "" || back.Since != back.Asked {
		t.Errorf("it answers again: %+v", back)
	}
}
