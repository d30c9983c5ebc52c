package daemon_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// client returns a client of the daemon's socket.
func (r *testDaemon) client() status.Client { return status.Client{Socket: r.config.Socket} }

func TestNextIsAnsweredWhenAHoldIsSet(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	before, err := r.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		t.Fatal(err)
	}
	for after := before; ; {
		if after, err = r.client().Next(t.Context(), after.Revision); err != nil {
			t.Fatal(err)
		}
		if after.Services[0].Mode == drain.Drain {
			if !after.Services[0].ModeSince.After(before.Time) {
				t.Errorf("held since %s, before the hold was set", after.Services[0].ModeSince)
			}
			return
		}
	}
}

func TestNextIsAnsweredWhenABalancerAsks(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	last, err := r.client().Status(t.Context())
	for len(last.Balancers) == 0 && err == nil {
		r.ask("GET / HTTP/1.0\r\n\r\n")
		last, err = r.client().Next(t.Context(), last.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestStatusCarriesObstacles(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	const view = "X-Haproxy-Server-State: UP; name=puppet/m1; node=lb1; weight=1/1; scur=2/2; qcur=0\r\n"
	r.ask("GET / HTTP/1.0\r\n" + view + "\r\n")
	if last := r.Status(time.Now()).Services[0].Keeps; len(last) != 1 || last[0].Concerns != "lb1" {
		t.Errorf("the last server of lb1: %+v", last)
	}
	r.drain()
	r.ask("GET / HTTP/1.0\r\n" + view + "\r\n")
	s := r.Status(time.Now()).Services[0]
	found := false
	for _, o := range s.Obstacles {
		found = found || o.Kind == balancer.ObstacleSending && o.Concerns == "lb1"
	}
	if !found || len(s.Keeps) != 0 {
		t.Errorf("drained: obstacles %+v, last server %+v", s.Obstacles, s.Keeps)
	}
}

func TestHeldRequestEndsInTime(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	s, err := r.client().Status(t.Context())
	for err == nil { // until no event answers the request early
		began := time.Now()
		var next status.Status
		if next, err = r.client().Next(t.Context(), s.Revision); next.Revision == s.Revision {
			if took := time.Since(began); took < status.HeldFor {
				t.Errorf("answered after %s without news", took)
			}
			return
		}
		s = next
	}
	t.Fatal(err)
}
