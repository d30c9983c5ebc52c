//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testChecksCostNoProbes: however many balancers ask, Puppet Server is probed at the
// configured interval and not more often.
func testChecksCostNoProbes(t *testing.T, s *lab.PuppetServer) {
	const (
		clients  = 50
		each     = 200
		pause    = 50 * time.Millisecond
		interval = 500 * time.Millisecond
	)
	r := lab.StartSite(t, lab.SiteOptions{
		Server: s,
		YAML:   fmt.Sprintf("probe: {interval: %s, timeout: 400ms}\n", interval),
	})
	probes := func() int { return s.Requests("/status/v1/simple/server") }

	before, began := probes(), time.Now()
	var bad atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for i := range each {
				time.Sleep(time.Until(began.Add(time.Duration(i) * pause))) // keeps the pace, however slow the answers are
				if code, _, err := r.Ask("/"); code != http.StatusOK || err != nil {
					bad.Add(1)
				}
			}
		})
	}
	group.Wait()
	took, got := time.Since(began), probes()-before
	// Intervals in which this machine was too busy to probe, plus one for rounding.
	missed := int(lab.Starved(began, time.Now())/interval) + 1

	measured(t, "checks answered per second", int(clients*each/took.Seconds()))
	measured(t, "probes meanwhile", fmt.Sprintf("%d in %.1f s at an interval of %v", got, took.Seconds(), interval))
	// Two more are right: one in the interval that the division cuts off, and one that was due before the
	// start and came late.
	if want := int(took / interval); got < want-missed || got > want+2 {
		t.Errorf("%d probes, want %d to %d", got, want-missed, want+2)
	}
	if n := bad.Load(); n > 0 {
		t.Errorf("%d of %d checks were not answered 200", n, clients*each)
	}
}

// TestSlowClientsFailNoCheck: no check of a balancer fails while other clients send their
// headers slowly.
func TestSlowClientsFailNoCheck(t *testing.T) {
	lab.Real(t)
	for _, test := range []struct {
		name    string
		clients int
	}{
		{"room for all", 600},
		{"room for half", 2048},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := lab.StartSite(t, lab.SiteOptions{})
			l := line{name: "bare", options: []string{"option httpchk"}, inter: 100 * time.Millisecond, fall: 2}
			b := startBalancer(t, []line{l}, r)
			before := b.failures()

			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			var made atomic.Int64
			var group sync.WaitGroup
			for i := range test.clients {
				group.Go(func() {
					time.Sleep(time.Duration(i) * dripEvery / time.Duration(test.clients)) // all at once would be a flood
					for ctx.Err() == nil {
						made.Add(1)
						drip(ctx, r.Listen)
					}
				})
			}
			group.Wait()

			failed := b.failures() - before
			measured(t, fmt.Sprintf("%d slow clients for 10 s, %s", test.clients, test.name),
				fmt.Sprintf("%d connections, %d failed checks", made.Load(), failed))
			if made.Load() < int64(test.clients) {
				t.Errorf("%d connections, want at least %d", made.Load(), test.clients)
			}
			if failed > 0 {
				t.Errorf("%d checks failed, want none", failed)
			}
		})
	}
}

// dripEvery is how often a slow client sends a header.
const dripEvery = 500 * time.Millisecond

// drip sends a request one header at a time until pmcheck closes the connection, and
// pauses before it returns.
func drip(ctx context.Context, address string) {
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	c, err := net.Dial("tcp", address)
	if err == nil {
		defer c.Close()
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\n")
	}
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, err = io.WriteString(c, "X: y\r\n")
		}
	}
	select {
	case <-ctx.Done():
	case <-tick.C:
	}
}
