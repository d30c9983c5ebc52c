//go:build linux

package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// How many times in a run the master is restarted and its files are renewed.
const (
	restarts  = 8
	rotations = 32
)

func TestMain(m *testing.M) { lab.Main(m) }

func TestEachAnswerIsTrueAndNothingLeaks(t *testing.T) {
	lab.Real(t)
	duration := howLong(t)
	m := lab.StartPuppetServer(t, lab.PuppetServerOptions{})
	m.WaitReady(2 * time.Minute)
	site := lab.StartSite(t, lab.SiteOptions{Server: m})

	w, r := newTruths(), newResources()
	clients := make([]*balancer, balancers)
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range clients {
		clients[i] = newBalancer(i, site.Listen)
		first := began.Add(time.Duration(i) * time.Second / perSecond)
		group.Go(func() error { return clients[i].run(ctx, first, w) })
	}
	toggles := 0
	group.Go(func() error { return w.toggle(ctx, site.Holds, site.Listen, &toggles) })
	group.Go(func() error { return r.watch(ctx, site.Pid(), site.Listen) })
	// Not in the group: only the test's own goroutine may use the lab.
	trouble := w.trouble(ctx, m, site.Listen, duration)
	if trouble != nil {
		cancel()
	}
	if err := cmp.Or(group.Wait(), trouble); err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("%.0f minutes, %d changes of a hold, %d renewals of certificate and CRL, "+
		"%d restarts of Puppet Server", duration.Minutes(), toggles, rotations, restarts)
	table := report(t, clients, r, what)
	fmt.Println(table)
	lab.Publish(t, "soak", table)
}

// howLong returns what PMCHECK_SOAK asks for.
func howLong(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("PMCHECK_SOAK")
	if text == "" {
		t.Skip("PMCHECK_SOAK names no duration")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Minute {
		t.Fatalf("PMCHECK_SOAK is %q, want a duration such as 30m, 10m or more", text)
	}
	return d
}

// trouble renews files and restarts the master, evenly over the run. It returns when ctx
// ends, long after the last restart.
func (w *truths) trouble(ctx context.Context, m *lab.PuppetServer, address string, duration time.Duration) error {
	tick := time.NewTicker(duration / (rotations + 1))
	defer tick.Stop()
	for i := range rotations {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		m.IssueCert(m.Certname(), nil)
		m.RenewCRL()
		if i%(rotations/restarts) == 1 {
			if err := w.restart(ctx, m, address); err != nil {
				return fmt.Errorf("restart: %w", err)
			}
		}
	}
	<-ctx.Done()
	return nil
}
