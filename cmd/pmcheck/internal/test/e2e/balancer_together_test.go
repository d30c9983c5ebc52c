//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// togetherInterval is the time between two checks in these tests.
const togetherInterval = 500 * time.Millisecond

// startPool starts masters m1 and so on behind one HAProxy, and waits until all are UP and know of
// each other.
func startPool(t *testing.T, masters int) (list []*lab.Site, h *lab.HAProxy, address string) {
	t.Helper()
	address = lab.Address(t, "127.0.0.1")
	config := tcpDefaults + "listen puppet\n bind " + address + "\n balance roundrobin\n" +
		" option httpchk GET /?drain=404\n http-check disable-on-404\n http-check send-state\n" +
		fmt.Sprintf(" default-server check inter %dms fall 3 rise 2 weight 100\n", togetherInterval.Milliseconds())
	echo := startEcho(t)
	for i := range masters {
		s := lab.StartSite(t, lab.SiteOptions{Name: fmt.Sprintf("m%d", i+1)})
		list = append(list, s)
		config += fmt.Sprintf(" server m%d %s port %s\n", i+1, echo, lab.Port(t, s.Listen))
	}
	h = list[0].Balance(config)
	waitForPool(list)
	return list, h, address
}

// waitForPool waits until HAProxy tells every master that all are UP.
func waitForPool(list []*lab.Site) {
	for _, s := range list {
		waitForWeights(s, fmt.Sprintf("100/%d00", len(list)))
	}
}

// waitForWeights waits until HAProxy has told a master twice that it is UP with this
// weight: only then its interval is known.
func waitForWeights(s *lab.Site, weight string) {
	s.TB.Helper()
	s.WaitBalancer(func(b lab.Balancer) bool {
		return b.View != nil && b.Checks > 1 && b.View.Sends() &&
			weight == fmt.Sprintf("%d/%d", b.View.Weight, b.View.WeightTotal)
	}, 20*time.Second)
}

// TestDrainsAtTheSameTime drains both masters of a pool in the same moment. Each drain sees
// that the other server left too, is undone, and exits with status 7.
func TestDrainsAtTheSameTime(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	pair, h, _ := startPool(t, 2)
	servers := lab.StartRecord(t, 5*time.Millisecond, func() string { return serversUp(h) })
	var commands sync.WaitGroup
	for i, s := range pair {
		commands.Go(func() {
			if out, status := s.Run("drain", "--wait=30s"); status != 7 {
				t.Errorf("m%d: drain --wait ends with %d, want 7:\n%s", i+1, status, out)
			}
		})
	}
	commands.Wait()
	waitForPool(pair)
	took := longestWithout(servers.Stop())
	measured(t, "two drains at the same time: without a server", took)
	if took > 3*togetherInterval {
		t.Errorf("HAProxy had no server for %v: %s", took, servers)
	}
}

// TestDrainsInTurn drains both masters of a pool in the same moment with --in-turn.
func TestDrainsInTurn(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	pair, h, _ := startPool(t, 2)
	servers := lab.StartRecord(t, 5*time.Millisecond, func() string { return serversUp(h) })
	var commands sync.WaitGroup
	for i, s := range pair {
		commands.Go(func() {
			if out, status := s.Run("drain", "--in-turn", "--wait=4m"); status != 0 {
				t.Errorf("m%d: drain --in-turn ends with %d:\n%s", i+1, status, out)
			}
			if out, status := s.Run("ready", "--wait=1m"); status != 0 {
				t.Errorf("m%d: ready --wait ends with %d:\n%s", i+1, status, out)
			}
		})
	}
	commands.Wait()
	took := longestWithout(servers.Stop())
	measured(t, "two drains in turn: without a server", took)
	if took > 3*togetherInterval {
		t.Errorf("HAProxy had no server for %v: %s", took, servers)
	}
}

// TestDrainedInHAProxyIsNotTheLastServer: a server drained in HAProxy sends the same header as
// the last server (UP; weight=100/100), but HAProxy gives new sessions to the other one.
func TestDrainedInHAProxyIsNotTheLastServer(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	pair, h, address := startPool(t, 2)
	s := pair[0]
	h.Admin("set server puppet/m1 state drain")
	waitForWeights(s, "100/100")
	if out, status := s.Run("drain"); status != 7 {
		t.Errorf("drain ends with %d, want 7: without sessions the two cases cannot be told apart\n%s", status, out)
	}
	startSession(t, address) // goes to m2
	s.WaitBalancer(func(b lab.Balancer) bool { return b.View != nil && b.View.SessionsTotal == 1 }, 10*time.Second)
	s.MustRun("drain")
}

// serversUp returns how many servers HAProxy has UP.
func serversUp(h *lab.HAProxy) string {
	stats, err := h.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	up := 0
	for _, s := range stats {
		if strings.HasPrefix(s.Status, "UP") {
			up++
		}
	}
	return fmt.Sprint(up)
}

// longestWithout returns the longest time in a record of serversUp in which no server was UP.
func longestWithout(r *lab.Record) (longest time.Duration) {
	changes := r.Changes()
	for i, c := range changes {
		if c.Answer == "0" && i+1 < len(changes) {
			longest = max(longest, changes[i+1].At.Sub(c.At))
		}
	}
	return longest
}
