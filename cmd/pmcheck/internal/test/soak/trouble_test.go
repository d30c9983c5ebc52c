//go:build linux

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// restart kills the master and starts it again. It records which answers balancers may get
// in the meantime.
func (w *truths) restart(ctx context.Context, m *lab.PuppetServer, address string) error {
	health := func(want int) error {
		return waitFor(ctx, address, "?drain=200&maint=200", func(a answer) bool { return a.code == want })
	}
	w.healthy.set(either)
	m.Kill()
	if err := health(http.StatusServiceUnavailable); err != nil {
		return err
	}
	w.healthy.set(no)
	pause(ctx, 200*time.Millisecond)
	w.healthy.set(either)
	m.Start()
	m.WaitReady(2 * time.Minute)
	if err := health(http.StatusOK); err != nil {
		return err
	}
	w.healthy.set(yes)
	return nil
}

// toggle sets and lifts a hold in turn until ctx ends, with about a second in between. It
// adds the number of changes to count.
func (w *truths) toggle(ctx context.Context, store *drain.Store, address string, count *int) error {
	for ctx.Err() == nil {
		w.held.set(either)
		if _, err := store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain, Reason: "soak"}); err != nil {
			return err
		}
		if err := waitFor(ctx, address, "", isDrain); err != nil {
			return err
		}
		w.held.set(yes)
		pause(ctx, rand.N(2*time.Second))
		w.held.set(either)
		if _, err := store.Lift(drain.Operator, ""); err != nil {
			return err
		}
		if err := waitFor(ctx, address, "", func(a answer) bool { return !isDrain(a) }); err != nil {
			return err
		}
		w.held.set(no)
		*count += 2
		pause(ctx, rand.N(2*time.Second))
	}
	return nil
}

func isDrain(a answer) bool { return a.body == "drain" }

// pause blocks for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waitFor sends requests until want accepts the answer. It returns an error after 10 s, and
// nil if ctx ends. It does not use lab.WaitFor since it does not run in the test's goroutine.
func waitFor(ctx context.Context, address, query string, want func(answer) bool) error {
	const patience = 10 * time.Second
	began := time.Now()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for ; ctx.Err() == nil; pause(ctx, 2*time.Millisecond) {
		a, err := ask(client, "http://"+address+"/"+query, nil)
		if err != nil {
			return err
		}
		if want(a) {
			return nil
		}
		if lab.Since(began) > patience {
			return fmt.Errorf("after %v the answer is still %d %q", patience, a.code, a.body)
		}
	}
	return nil
}
