package leave_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// TestAHoldIsAnothersOnceItWasReplaced: then it is neither changed nor lifted.
func TestAHoldIsAnothersOnceItWasReplaced(t *testing.T) {
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	changed := 0
	w := leave.World{Holds: store, Changed: func(string, drain.Hold) { changed++ }}
	put := func(mode drain.Mode) drain.Hold {
		h := drain.Hold{Mode: mode, Until: time.Now().Add(time.Hour)}
		set, err := store.Change("with-hold", "", func(drain.Hold) (drain.Hold, error) { return h, nil })
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	noEnd := func(h *drain.Hold) { h.Until = time.Time{} }
	replaced, own := put(drain.Drain), put(drain.Maint)
	if set, err := w.Amend(replaced, noEnd); err == nil || set != replaced {
		t.Errorf("amended to %+v, %v", set, err)
	}
	if err := w.Lift(replaced); err != nil || changed != 0 || store.Read().Holds()[0] != own {
		t.Errorf("%d lifted, %v, left %v", changed, err, store.Read().Holds())
	}
	own, err := w.Amend(own, noEnd)
	if liftErr := w.Lift(own); err != nil || liftErr != nil || changed != 1 || !own.Until.IsZero() {
		t.Errorf("its own: %+v, %v; %d lifted, %v", own, err, changed, liftErr)
	}
}

// TestAHoldThatCannotBeReadIsNotGone: to change or lift it is an error.
func TestAHoldThatCannotBeReadIsNotGone(t *testing.T) {
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	w := leave.World{Holds: store}
	own, err := store.Change("guard", "", func(drain.Hold) (drain.Hold, error) {
		return drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	chmod := func(mode os.FileMode) {
		if err := os.Chmod(own.Path, mode); err != nil {
			t.Fatal(err)
		}
	}

	chmod(0o666)
	const want = "cannot read"
	_, err = w.Amend(own, func(h *drain.Hold) { h.Leaving = drain.Firm })
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), own.Path) {
		t.Errorf("amended: %v, want %s", err, want)
	}
	if err := w.Lift(own); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("lifted: %v, want %s", err, want)
	}

	chmod(0o644)
	if err := w.Lift(own); err != nil || len(store.Read().Holds()) != 0 {
		t.Errorf("lifted: %v, left %v", err, store.Read().Holds())
	}
}

// TestACommandDoesNotLiftTheHoldOfTheNext: the second of two equal commands has taken the hold over, and the first
// ends.
func TestACommandDoesNotLiftTheHoldOfTheNext(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		otherDies(p)
		first := make(chan error, 1)
		go func() {
			_, err := leave.Out(ctx, m.world(), command())
			first <- err
		}()
		time.Sleep(time.Minute)
		time.AfterFunc(4*time.Minute+30*time.Second, func() { p.members[1].becomes(check.Healthy) })
		_, err := leave.Out(ctx, m.world(), command())
		if err != nil || m.held() != `operator drain "";` {
			t.Errorf("the second: %v, held: %s", err, m.held())
		}
		if e := (<-first); !strings.Contains(e.Error(), "lifted or replaced") {
			t.Errorf("the first: %v", e)
		}
	})
}

// TestAHoldThatHasEndedIsChanged while its file is there: the clock may have been set forward.
func TestAHoldThatHasEndedIsChanged(t *testing.T) {
	at := time.Now()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir(), Now: func() time.Time { return at }}
	w := leave.World{Holds: store}
	set, err := store.Change("with-hold", "", func(drain.Hold) (drain.Hold, error) {
		return drain.Hold{Mode: drain.Drain, Until: at.Add(time.Hour)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(2 * time.Hour)
	again, err := w.Amend(set, func(h *drain.Hold) { h.Until = at.Add(time.Hour) })
	if err != nil || again.Mode != drain.Drain || !again.InEffect(at) {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestKeepsIsWhatWouldBeRefusedOrWaitedFor: of the service that is asked for, and of the fleet if there is no budget.
func TestKeepsIsWhatWouldBeRefusedOrWaitedFor(t *testing.T) {
	keeps := func(text string) status.Departure {
		return status.Departure{Blockers: []status.Blocker{{Kind: blocker.OnlyServer, Text: text}}}
	}
	serves := check.Verdict{Health: check.Healthy}
	now := time.Now()
	s := status.Status{Time: now, ListensSince: now.Add(-time.Hour), Services: []status.ServiceStatus{
		{Name: drain.Master, Mode: drain.Ready, Verdict: serves, Departure: keeps("server")},
		{Name: "ca", Mode: drain.Ready, Verdict: serves, Departure: keeps("ca")},
	}}
	down := s
	down.Services = slices.Clone(s.Services)
	down.Services[0].Verdict.Health = check.Unhealthy
	down.Services[1].Verdict.Health = check.Unhealthy
	downAndYoung := down
	downAndYoung.ListensSince = now
	downBeside := down
	downBeside.Balancers = []status.Balancer{onlyThis(now)}
	downBeside.Balancers[0].Service = "ca"
	held := s
	held.Services = slices.Clone(s.Services)
	held.Services[1].Mode = drain.Drain // firm: only agents can be at work on it
	killed := s
	killed.Services = slices.Clone(s.Services)
	killed.Services[0].Mode = drain.Drain
	killed.Services[0].Departure.Leaving = drain.LeavingByView
	atWork := status.Blocker{Kind: blocker.Agent, Text: "at work"}
	killed.Services[0].Departure.Blockers = append(keeps("server").Blockers, atWork)
	budgeted := s
	budgeted.Budget = &status.BudgetStatus{}
	w := leave.World{
		MaxOut: answer.MaxOut{Number: 1},
		Fleet:  func(context.Context) ([]fleet.Witness, int) { return []fleet.Witness{{Host: "m2", Code: 503}}, 0 },
	}
	const byFleet = "needed: m2 of the fleet does not serve: 503, for 0s"
	for _, tt := range []struct {
		name    string
		status  status.Status
		service drain.Service
		want    string
	}{
		{"every service", s, "", "only_server: server; only_server: ca; " + byFleet},
		{"the master", s, drain.Master, "only_server: server; " + byFleet},
		{"a service beside it", s, "ca", "only_server: ca"},
		{"with a budget", budgeted, drain.Master, "only_server: server"},
		{"a master that does not serve", down, drain.Master, ""},
		{"and its daemon is young", downAndYoung, drain.Master,
			"unknown: the daemon has listened for 0s, and may not have heard every balancer"},
		{"and a backend of the CA has no other server", downBeside, "",
			"only_server: balancer alone/puppet has no other server than m000"},
		{"a drain was killed, and an agent is at work", killed, drain.Master, "only_server: server; " + byFleet},
		{"a service that is held already", held, "", "only_server: server; " + byFleet},
	} {
		var kept []string
		for _, o := range w.Keeps(t.Context(), tt.status, tt.service, drain.Drain) {
			kept = append(kept, string(o.Kind)+": "+o.Text)
		}
		if got := strings.Join(kept, "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
