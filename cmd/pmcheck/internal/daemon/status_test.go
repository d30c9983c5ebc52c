package daemon_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

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
	must(t, clients.Wait())
	slices.SortFunc(taken, time.Time.Compare)
	if n := len(slices.Compact(slices.Clone(taken))); n == len(taken) {
		t.Error("no two clients share a status")
	}
	for i, at := range taken[1:] {
		if apart := at.Sub(taken[i]); apart > 0 && apart < 20*time.Millisecond {
			t.Errorf("two statuses were made within %s", apart)
		}
	}
}
