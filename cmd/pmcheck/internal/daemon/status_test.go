package daemon_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestACommandThatFollowsSeesWhatHappens(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	follow := r.client.Follow()
	until := func(done func(status.Status) bool) status.Status {
		t.Helper()
		for {
			if s, err := follow(t.Context()); err != nil {
				t.Fatal(err)
			} else if done(s) {
				return s
			}
		}
	}
	r.ask(lb1)
	before := until(func(s status.Status) bool { return len(s.Balancers) == 1 })
	r.hold(drain.Drain)
	s := until(func(s status.Status) bool { return s.Services[0].Mode == drain.Drain })
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
