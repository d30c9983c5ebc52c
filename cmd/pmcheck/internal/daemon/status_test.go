package daemon_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// next asks for the next status until done.
func (r *testDaemon) next(s status.Status, done func(status.Status) bool) status.Status {
	r.t.Helper()
	for !done(s) {
		var err error
		if s, err = r.client.Next(r.t.Context(), s.Revision); err != nil {
			r.t.Fatal(err)
		}
	}
	return s
}

func TestNextIsAnsweredWhenSomethingHappens(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	var before status.Status
	var began time.Time
	s := r.next(r.Status(time.Now()), func(s status.Status) bool { // until no event answers early
		quiet := s.Revision == before.Revision
		if took := time.Since(began); quiet && took < status.HeldFor {
			t.Errorf("answered after %s without news", took)
		}
		before, began = s, time.Now()
		return quiet
	})
	r.ask(lb1)
	s = r.next(s, func(s status.Status) bool { return len(s.Balancers) == 1 })
	r.hold(drain.Drain)
	s = r.next(s, func(s status.Status) bool { return s.Services[0].Mode == drain.Drain })
	if since := s.Services[0].ModeSince; !since.After(before.Time) {
		t.Errorf("held since %s, before the hold was set", since)
	}
}

// Any user of the host may ask on the socket, as often as he likes.
func TestClientsThatAskAtOnceShareAStatus(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	taken := make([]time.Time, 100)
	var clients errgroup.Group
	for i := range taken {
		clients.Go(func() error {
			asked := time.Now()
			s, err := r.client.Status(t.Context())
			if taken[i] = s.Time; err == nil && s.Time.Before(asked) {
				t.Errorf("asked at %s, and the status is of %s", asked, s.Time)
			}
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(taken, time.Time.Compare)
	for i, at := range taken[1:] {
		if apart := at.Sub(taken[i]); apart > 0 && apart < 20*time.Millisecond {
			t.Errorf("two statuses were made within %s", apart)
		}
	}
}
