package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// sendStateOften makes a backend send its state ten times a second.
const sendStateOften = ` option httpchk GET /
 http-check send-state
 default-server check inter 100ms fall 2 rise 2
`

// waitForView waits until the balancer with this node name reports the master in a state without pending steps, with
// this weight, and has asked long enough after the call for the weights to be current.
func waitForView(r *lab.Site, node, state, weight string) {
	r.TB.Helper()
	began := time.Now()
	r.WaitBalancer(func(b lab.Balancer) bool {
		v := b.View
		return v != nil && b.Node == node && b.Seen.After(began.Add(300*time.Millisecond)) &&
			v.State == state && v.Steps == 0 && weight == fmt.Sprintf("%d/%d", v.Weight, v.WeightTotal)
	}, 10*time.Second)
}

// TestLastServerOfOneBalancerIsNotDrained: if two balancers disagree, one that misses its other server
// keeps the master in the pool.
func TestLastServerOfOneBalancerIsNotDrained(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	r := lab.StartSite(t, lab.SiteOptions{})
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(other.Close)
	start := func(node string) *lab.HAProxy {
		return r.Balance(fmt.Sprintf("global\n node %s\nbackend puppet\n%s server m1 %s\n server m2 %s\n",
			node, sendStateOften, r.Listen, other.Listener.Addr()))
	}
	start("lb1")
	second := start("lb2")
	waitForView(r, "lb1", "UP", "1/2")
	waitForView(r, "lb2", "UP", "1/2")
	second.Admin("set server puppet/m2 state maint")
	waitForView(r, "lb2", "UP", "1/1")
	if out, status := r.Run("drain", "--wait", "--timeout=2s"); status != 7 || len(r.Status().Holds) > 0 {
		t.Errorf("exit status of drain %d, want 7 and no hold: lb2 has no other server\n%s", status, out)
	}
	second.Admin("set server puppet/m2 state ready")
	waitForView(r, "lb2", "UP", "1/2")
	r.MustRun("drain")
}
