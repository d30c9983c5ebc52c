package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// tcpDefaults is what each HAProxy of these tests has to be told.
const tcpDefaults = `
defaults
    mode tcp
    timeout connect 1s
    timeout check 2s
    timeout client 5m
    timeout server 5m
`

// serveAgent starts pmcheck with a port for agent-checks, and returns the port.
func serveAgent(t *testing.T, yaml string) (r *rig, port string) {
	t.Helper()
	address := lab.FreeAddress(t, "127.0.0.1")
	r = serve(t, yaml+fmt.Sprintf("agent: {listen: %q, weight: true}\n", address))
	return r, portOf(t, address)
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// hold sets or lifts the operator's hold, as the commands do.
func (r *rig) hold(mode drain.Mode) {
	r.t.Helper()
	var err error
	if mode == drain.Ready {
		_, err = r.store.LiftAll()
	} else {
		_, err = r.store.Put(drain.Hold{Holder: drain.Operator, Mode: mode})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// awaitBalancer waits until pmcheck's view of some balancer is as wanted.
func (r *rig) awaitBalancer(want func(api.Balancer) bool, within time.Duration) api.Balancer {
	r.t.Helper()
	var found api.Balancer
	lab.RetryUntil(r.t, within, 10*time.Millisecond, func() error {
		list := r.status().Balancers
		for _, b := range list {
			if want(b) {
				found = b
				return nil
			}
		}
		return fmt.Errorf("pmcheck knows %+v", list)
	})
	return found
}

// kill ends the daemon as a crash does.
func (r *rig) kill() {
	r.t.Helper()
	r.cmd.Process.Kill()
	<-r.done
}

// awaitDaemon waits until a daemon that was started answers.
func (r *rig) awaitDaemon() {
	r.t.Helper()
	lab.RetryUntil(r.t, 10*time.Second, 5*time.Millisecond, func() error {
		_, _, err := r.ask("/live")
		return err
	})
}

// A neighbour stands for another master's pmcheck.
type neighbour struct {
	*httptest.Server
	down atomic.Bool
}

func newNeighbour(t *testing.T) *neighbour {
	t.Helper()
	n := &neighbour{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *neighbour) address() string { return n.Listener.Addr().String() }

// awaitServer waits until HAProxy gives a server this status.
func awaitServer(t *testing.T, h *lab.HAProxy, backend, server, status string, within time.Duration) lab.ServerStat {
	t.Helper()
	stat, _ := h.WaitStatus(backend, server, status, within)
	return stat
}
