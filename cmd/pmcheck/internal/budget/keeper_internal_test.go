package budget

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestAKeeperAsksAgain(t *testing.T) {
	hour, minute := config.Budget{Lapse: time.Hour}, config.Budget{Lapse: time.Minute}
	holds := Status{Reachable: true, Usage: Usage{HasSlot: true}}
	for _, tt := range []struct {
		name     string
		settings config.Budget
		step     Step
		known    Status
		want     time.Duration
	}{
		{"every minute", hour, Look, Status{Reachable: true}, time.Minute},
		{"six times before a claim lapses", minute, Renew, holds, 10 * time.Second},
		{"soon, if it was not answered", hour, Renew, Status{Usage: Usage{HasSlot: true}}, 10 * time.Second},
		{"soon, if its claim is too young to return", hour, Return, holds, Settle},
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
	usage := Usage{Allowed: 1, Out: 1, Slots: []Slot{{Master: "puppet2"}}}

	first := k.learn(Status{}, usage, nil)
	later := k.learn(first, Usage{Allowed: 1}, nil)
	lost := k.learn(first, Usage{}, errors.New("no answer within 2s"))
	back := k.learn(lost, usage, nil)

	want := Status{Pool: "eu", Usage: usage, Reachable: true, Since: first.Asked, Asked: first.Asked}
	if diff := gocmp.Diff(want, first); diff != "" {
		t.Errorf("the first answer: %s", diff)
	}
	if later.Out != 0 || later.Since != first.Since {
		t.Errorf("the next answer: %+v", later)
	}
	want = Status{Pool: "eu", Usage: usage, Since: lost.Asked, Asked: lost.Asked, Error: "no answer within 2s"}
	if diff := gocmp.Diff(want, lost); diff != "" {
		t.Errorf("without an answer: %s", diff)
	}
	if !back.Reachable || back.Error != "" || back.Since != back.Asked {
		t.Errorf("it answers again: %+v", back)
	}
}

// answers is a database that answers each question, and notes what was asked.
type answers struct{ asked []Step }

func (a *answers) note(s Step) (Usage, error) {
	a.asked = append(a.asked, s)
	return Usage{Allowed: 1}, nil
}
func (a *answers) Look(context.Context) (Usage, error)          { return a.note(Look) }
func (a *answers) Renew(context.Context, string) (Usage, error) { return a.note(Renew) }
func (a *answers) Return(context.Context) (Usage, error)        { return a.note(Return) }

func TestAKeeperAsksWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		database := &answers{}
		var known Status
		k := &Keeper{settings: config.Budget{Lapse: time.Hour}, client: database}
		ended, end := context.WithCancel(t.Context())
		end()
		for _, tt := range []struct {
			name      string
			after     time.Duration
			step      Step
			modeSince time.Time
			ctx       context.Context
			want      bool
		}{
			{name: "the first time", step: Look, want: true},
			{name: "a second later", after: time.Second, step: Look},
			{name: "the step is another", step: Renew, want: true},
			{name: "the pause is not over", after: 59 * time.Second, step: Renew},
			{name: "the pause is over", after: time.Second, step: Renew, want: true},
			{name: "a hold was set and lifted", step: Renew, modeSince: start.Add(time.Hour), want: true},
			{name: "the daemon ends", step: Return, ctx: ended},
		} {
			time.Sleep(tt.after)
			before := len(database.asked)
			ctx := cmp.Or(tt.ctx, t.Context())
			next, asked, err := k.Keep(ctx, known, tt.step, "", tt.modeSince)
			if asked != tt.want || (err != nil) != (tt.ctx != nil) {
				t.Errorf("%s: asked %v, error %v", tt.name, asked, err)
			}
			if asked && (len(database.asked) != before+1 || database.asked[before] != tt.step || next.Asked != time.Now()) {
				t.Errorf("%s: asked %v, known %+v", tt.name, database.asked, next)
			}
			known = next
		}
	})
}
