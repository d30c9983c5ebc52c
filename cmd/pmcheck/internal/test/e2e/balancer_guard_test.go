//go:build linux

package e2e_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// sendStateOften makes a backend send its state ten times a second.
const sendStateOften = ` option httpchk GET /
 http-check send-state
 default-server check inter 100ms fall 2 rise 2
`

// A pool is a backend with the server of the site, m1, and neighbours.
type pool struct {
	name   string
	own    string   // further words of its server line
	others []string // of theirs
	steps  []poolStep
}

// A poolStep is which neighbours are up, the weight of m1 that HAProxy then reports, and
// whether a drain is refused.
type poolStep struct {
	up      string // a digit for each neighbour: 1 is up
	weight  string
	refused bool
}

// TestLastServerIsNotDrainedWithoutForce: the last server of a balancer is drained at once with
// --force only, or when another server has come up.
func TestLastServerIsNotDrainedWithoutForce(t *testing.T) {
	lab.Real(t)
	for _, p := range []pool{
		{name: "one master", steps: []poolStep{{"", "1/1", true}}},
		{name: "two masters", others: []string{""},
			steps: []poolStep{{"1", "1/2", false}, {"0", "1/1", true}, {"1", "1/2", false}}},
		{name: "three masters", others: []string{"", ""},
			steps: []poolStep{{"11", "1/3", false}, {"01", "1/2", false}, {"00", "1/1", true}, {"10", "1/2", false}}},
		{name: "a light one among heavy ones", own: "weight 1", others: []string{"weight 200", "weight 55"},
			steps: []poolStep{{"11", "1/256", false}, {"00", "1/1", true}, {"01", "1/56", false}}},
		{name: "a heavy one among light ones", own: "weight 200", others: []string{"weight 1"},
			steps: []poolStep{{"1", "200/201", false}, {"0", "200/200", true}, {"1", "200/201", false}}},
		// HAProxy counts no backup while another server is up. A drain would make it
		// use the backup, which only the operator may decide.
		{name: "one backup", others: []string{"", "backup"},
			steps: []poolStep{{"11", "1/2", false}, {"01", "1/1", true}, {"10", "1/2", false}}},
		{name: "the backup itself", own: "backup weight 50", others: []string{"weight 100"},
			steps: []poolStep{{"1", "50/100", false}, {"0", "50/50", true}, {"1", "50/100", false}}},
		{name: "under slowstart", own: "weight 100 slowstart 1h", others: []string{"weight 100 slowstart 1h"},
			steps: []poolStep{{"1", "", false}, {"0", "", true}, {"1", "", false}}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t)
		})
	}
}

func (p pool) test(t *testing.T) {
	r := lab.StartSite(t, lab.SiteOptions{})
	config := strings.Builder{}
	fmt.Fprintf(&config, "%sbackend puppet\n balance leastconn\n%s server m1 %s %s\n",
		tcpDefaults, sendStateOften, r.Listen, p.own)
	var others []*neighbour
	for i, words := range p.others {
		n := startNeighbour(t)
		others = append(others, n)
		fmt.Fprintf(&config, " server m%d %s %s\n", i+2, n.address(), words)
	}
	h := r.Balance(config.String())
	for _, step := range p.steps {
		for i, n := range others {
			want := map[byte]string{'0': "DOWN", '1': "UP"}[step.up[i]]
			n.down.Store(want == "DOWN")
			h.WaitStatus("puppet", fmt.Sprintf("m%d", i+2), want, 10*time.Second)
		}
		b := waitForView(r, "UP", step.weight)
		want := 0
		if step.refused {
			want = 7
		}
		if out, status := r.Run("drain", "--now"); status != want {
			t.Errorf("neighbours up: %s, weight %d/%d: exit status of drain --now %d, want %d\n%s",
				step.up, b.View.Weight, b.View.WeightTotal, status, want, out)
		}
		if step.refused {
			r.MustRun("drain", "--force")
		}
		r.MustRun("ready")
	}
}

// waitForView waits until the balancer reports m1 in a state without pending steps, and
// has asked long enough after the call for the weights to be current.
func waitForView(r *lab.Site, state, weight string) lab.Balancer {
	r.TB.Helper()
	began := time.Now()
	return r.WaitBalancer(func(b lab.Balancer) bool {
		v := b.View
		return v != nil && b.Seen.After(began.Add(300*time.Millisecond)) && v.State == state && v.Steps == 0 &&
			(weight == "" || weight == fmt.Sprintf("%d/%d", v.Weight, v.WeightTotal))
	}, 10*time.Second)
}

// TestLastServerOfOneBalancerIsNotDrained: if two balancers disagree, one that misses its other server
// keeps the master in the pool.
func TestLastServerOfOneBalancerIsNotDrained(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	r := lab.StartSite(t, lab.SiteOptions{})
	n := startNeighbour(t)
	start := func(node string) *lab.HAProxy {
		return r.Balance(fmt.Sprintf("global\n node %s\n%sbackend puppet\n%s server m1 %s\n server m2 %s\n",
			node, tcpDefaults, sendStateOften, r.Listen, n.address()))
	}
	start("lb1")
	second := start("lb2")
	waitForWeight := func(node, weight string) {
		t.Helper()
		began := time.Now()
		r.WaitBalancer(func(b lab.Balancer) bool {
			return b.Node == node && b.Seen.After(began) && b.View.Sends() &&
				weight == fmt.Sprintf("%d/%d", b.View.Weight, b.View.WeightTotal)
		}, 10*time.Second)
	}
	waitForWeight("lb1", "1/2")
	waitForWeight("lb2", "1/2")
	second.Admin("set server puppet/m2 state maint")
	waitForWeight("lb2", "1/1")
	if out, status := r.Run("drain", "--wait=2s"); status != 7 || len(r.Status().Holds) > 0 {
		t.Errorf("exit status of drain %d, want 7 and no hold: lb2 has no other server\n%s", status, out)
	}
	second.Admin("set server puppet/m2 state ready")
	waitForWeight("lb2", "1/2")
	r.MustRun("drain")
}

// TestPoolHealsWhenThePartnerDies: a master whose drain is not over serves again at the next check when the
// only other server dies, and leaves when that one is back.
func TestPoolHealsWhenThePartnerDies(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	r, n := lab.StartSite(t, lab.SiteOptions{}), startNeighbour(t)
	h := r.Balance(fmt.Sprintf("%sbackend puppet\n%s server m1 %s\n server m2 %s\n",
		tcpDefaults, sendStateOften, r.Listen, n.address()))
	waitForView(r, "UP", "1/2")
	busy, err := net.Dial("tcp", r.MasterAddress()) // a run that keeps the master from being idle
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := busy.Write([]byte{22}); err != nil {
		t.Fatal(err)
	}
	drain := r.Command("drain", "--wait=1m")
	if err := drain.Start(); err != nil {
		t.Fatal(err)
	}
	h.WaitStatus("puppet", "m1", "DOWN", 10*time.Second)
	n.down.Store(true)
	h.WaitStatus("puppet", "m2", "DOWN", 10*time.Second)
	_, took := h.WaitStatus("puppet", "m1", "UP", 2*time.Second)
	measured(t, "the partner is DOWN, and the master serves again", took)
	n.down.Store(false)
	h.WaitStatus("puppet", "m1", "DOWN", 10*time.Second)
	busy.Close()
	if err := drain.Wait(); err != nil {
		t.Errorf("drain: %v", err)
	}
}
