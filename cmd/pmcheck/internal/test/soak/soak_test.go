package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
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
	s := &soak{site: lab.StartSite(t, lab.SiteOptions{Server: m}), answers: map[int]int{}, resources: newResources()}

	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range balancers {
		group.Go(func() error { return s.balancer(ctx, i, began.Add(time.Duration(i)*time.Second/perSecond)) })
	}
	group.Go(func() error { return s.toggle(ctx) })
	group.Go(func() error { return s.sample(ctx) })
	// Not in the group: only the test's own goroutine may use the lab.
	trouble := s.trouble(ctx, m, duration/(rotations+1))
	if trouble != nil {
		cancel()
	}
	lab.Must(t, cmp.Or(group.Wait(), trouble))
	table := fmt.Sprintf("| %.0f minutes, %d changes of a hold, %d renewals of certificate and CRL, "+
		"%d restarts of Puppet Server | |\n| --- | --- |\n%s",
		duration.Minutes(), s.toggles, rotations, restarts, s.report(t))
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

// A truth goes through four phases again and again: false, changing, true, changing.
type truth struct{ phase atomic.Int64 }

func (t *truth) next() { t.phase.Add(1) }

// since returns whether it may have been false, and true, at some moment since a phase.
func (t *truth) since(phase int64) (no, yes bool) {
	for last := t.phase.Load(); phase <= last; phase++ {
		no, yes = no || phase%4 != 2, yes || phase%4 != 0
	}
	return no, yes
}

// trouble renews files and restarts the master. It returns when ctx ends, long after the last restart.
func (s *soak) trouble(ctx context.Context, m *lab.PuppetServer, every time.Duration) error {
	tick := time.NewTicker(every)
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
			if err := s.restart(ctx, m); err != nil {
				return fmt.Errorf("restart: %w", err)
			}
		}
	}
	<-ctx.Done()
	return nil
}

func (s *soak) restart(ctx context.Context, m *lab.PuppetServer) error {
	health := func(want int) error {
		return s.waitFor(ctx, "/?drain=200&maint=200", func(code int, _ string) bool { return code == want })
	}
	s.sick.next()
	m.Kill()
	if err := health(503); err != nil {
		return err
	}
	s.sick.next()
	pause(ctx, 200*time.Millisecond)
	s.sick.next()
	m.Start()
	m.WaitReady(2 * time.Minute)
	if err := health(200); err != nil {
		return err
	}
	s.sick.next()
	return nil
}

// toggle sets and lifts a hold in turn until ctx ends, with about a second in between.
func (s *soak) toggle(ctx context.Context) error {
	for ; pause(ctx, rand.N(2*time.Second)); s.toggles++ {
		s.held.next()
		var err error
		set := s.toggles%2 == 0
		if set {
			hold := func(drain.Hold) (drain.Hold, error) { return drain.Hold{Mode: drain.Drain, Reason: "soak"}, nil }
			_, err = s.site.Holds.Change(drain.Operator, "", hold)
		} else {
			_, err = s.site.Holds.Lift(drain.Operator, "")
		}
		if err != nil {
			return err
		}
		if err := s.waitFor(ctx, "/", func(_ int, body string) bool { return (body == "drain") == set }); err != nil {
			return err
		}
		s.held.next()
	}
	return nil
}

// pause blocks for d and returns true, or returns false as soon as ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// waitFor asks until want accepts the answer. It returns an error after 10 s, and nil if ctx ends. lab.WaitFor is for
// the test's own goroutine.
func (s *soak) waitFor(ctx context.Context, path string, want func(code int, body string) bool) error {
	began := time.Now()
	for {
		code, body, err := s.site.Ask(path)
		if err == nil && !want(code, body) && lab.Since(began) > 10*time.Second {
			err = fmt.Errorf("after 10 s the answer is still %d %q", code, body)
		}
		if err != nil || want(code, body) || !pause(ctx, 2*time.Millisecond) {
			return err
		}
	}
}
