package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A moment is several backends of which every master is drained in the same moment.
type moment struct {
	name, global, check string
	most                time.Duration // without a server
	masters, balancers  int           // of each backend
}

// TestPairsDrainedInTheSameMoment drains both masters of several pairs in the same moment, again and
// again, behind a real HAProxy: each pair leaves one after the other, and a backend is without a server
// hardly ever, and then for two check intervals at most, or as long as rise takes, and one more on a busy
// machine. How often depends on the round trip, so the short form, one round of four pairs beside other
// suites, only asserts for how long. PMCHECK_TRIALS=104 drains as many backends of each kind, also behind
// two HAProxies, and of six masters.
func TestPairsDrainedInTheSameMoment(t *testing.T) {
	lab.Real(t)
	backends, inter := 4, time.Second
	trials, err := strconv.Atoi(os.Getenv("PMCHECK_TRIALS"))
	if err == nil {
		backends, inter = 8, 500*time.Millisecond
	}
	graceful := " option httpchk GET /?drain=404\n http-check disable-on-404\n http-check send-state\n"
	plain := " option httpchk GET /\n http-check send-state\n"
	kinds := []moment{
		{"404", "", graceful, 3 * inter, 2, 1},
		{"404 in locked phases", " max-spread-checks 1\n", graceful, 3 * inter, 2, 1},
		{"503 after fall 3", "", plain, 4 * inter, 2, 1},
		{"503 with downinter 5s", "", plain + " default-server downinter 5s\n", 5*time.Second + 4*inter, 2, 1},
	}
	if trials > 0 {
		kinds = append(kinds, moment{"404 by two HAProxies", "", graceful, 3 * inter, 2, 2},
			moment{"503 after fall 3 by two HAProxies", "", plain, 4 * inter, 2, 2},
			moment{"404 of six masters", "", graceful, 3 * inter, 6, 1})
	}
	table := "| Backends | Trials | Without a server | longest | A backend took |\n| --- | ---: | ---: | ---: | ---: |\n"
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			var empty, took []time.Duration
			pools, balancers := kind.start(t, backends, inter)
			for len(empty) < max(trials, backends) {
				e, d := drainAll(t, balancers, pools)
				empty, took = append(empty, e...), append(took, d)
			}
			without := 0
			for _, e := range empty {
				if e > 0 {
					without++
				}
				if e > kind.most {
					t.Errorf("a backend had no server for %v", e)
				}
			}
			slices.Sort(took)
			table += fmt.Sprintf("| %s | %d | %d | %.1f s | %.0f s |\n", kind.name, len(empty), without,
				slices.Max(empty).Seconds(), took[len(took)/2].Seconds())
			if trials > 0 && 20*without > len(empty)*kind.balancers {
				t.Errorf("%d of %d backends had no server for a moment", without, len(empty))
			}
		})
	}
	t.Logf("measured:\n%s", table)
}

func (m moment) start(t *testing.T, backends int, inter time.Duration) (pools [][]*lab.Site, balancers []*lab.HAProxy) {
	t.Helper()
	config := ""
	for i := range backends {
		config += fmt.Sprintf("backend pool%d\n%s timeout check 2s\n", i, m.check)
		config += fmt.Sprintf(" default-server check inter %dms fall 3 rise 2 weight 100\n", inter.Milliseconds())
		var pool []*lab.Site
		for j := range m.masters {
			s := lab.StartSite(t, lab.SiteOptions{Name: fmt.Sprintf("p%dm%d", i, j)})
			config += fmt.Sprintf(" server m%d %s\n", j, s.Listen)
			pool = append(pool, s)
		}
		pools = append(pools, pool)
	}
	for i := range m.balancers {
		node := fmt.Sprintf("global\n node lb%d\n%s", i, m.global)
		balancers = append(balancers, pools[0][0].Balance(node+config))
	}
	return pools, balancers
}

// drainAll drains every master of each pool at once, and makes each ready when it is out. It returns for how
// long each backend of any HAProxy was without a server, by pool the longest, and how long all of it took.
func drainAll(t *testing.T, balancers []*lab.HAProxy, pools [][]*lab.Site) (empty []time.Duration, took time.Duration) {
	t.Helper()
	for _, pool := range pools {
		for _, s := range pool {
			for i := range balancers {
				waitForView(s, fmt.Sprintf("lb%d", i), 100*len(pool))
			}
		}
	}
	var records []*lab.Record
	for _, h := range balancers {
		records = append(records, lab.StartRecord(t, 5*time.Millisecond, func() string { return upByBackend(h, len(pools)) }))
	}
	began := time.Now()
	var work sync.WaitGroup
	for _, pool := range pools {
		for _, s := range pool {
			work.Go(func() {
				if out, status := s.Run("drain", "--wait", "--timeout=4m"); status != 0 {
					t.Errorf("drain ends with %d:\n%s", status, out)
				}
				if out, status := s.Run("ready", "--wait", "--timeout=1m"); status != 0 {
					t.Errorf("ready ends with %d:\n%s", status, out)
				}
			})
		}
	}
	work.Wait()
	took = time.Since(began)
	empty = make([]time.Duration, len(pools))
	for _, record := range records {
		since := make([]time.Time, len(pools))
		for _, c := range record.Stop().Changes() {
			for i, up := range strings.Split(c.Answer, " ") {
				switch {
				case i >= len(pools) || up != "0" && since[i].IsZero():
				case up == "0" && since[i].IsZero():
					since[i] = c.At
				case up != "0":
					empty[i], since[i] = max(empty[i], c.At.Sub(since[i])), time.Time{}
				}
			}
		}
	}
	return empty, took
}

// waitForView waits until the balancer with this node name reports the master as UP with its weight of 100 in this
// total, and has asked long enough after the call for the weights to be current.
func waitForView(s *lab.Site, node string, total int) {
	s.TB.Helper()
	began := time.Now()
	s.WaitStatus(10*time.Second, func(status lab.Status) error {
		for _, b := range status.Balancers {
			v := b.View
			if v != nil && b.Node == node && b.Seen.After(began.Add(300*time.Millisecond)) &&
				v.State == "UP" && v.Steps == 0 && v.Weight == 100 && v.WeightTotal == total {
				return nil
			}
		}
		return fmt.Errorf("pmcheck knows of these balancers: %+v", status.Balancers)
	})
}

func upByBackend(h *lab.HAProxy, backends int) string {
	stats, err := h.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	up := make([]int, backends)
	for _, s := range stats {
		n, err := strconv.Atoi(strings.TrimPrefix(s.Backend, "pool"))
		if err == nil && n < backends && strings.HasPrefix(s.Status, "UP") {
			up[n]++
		}
	}
	return strings.Trim(fmt.Sprint(up), "[]")
}
