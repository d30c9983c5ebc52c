//go:build linux

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

// TestPairsDrainedInTheSameMoment drains both masters of several pairs in the same moment, again and
// again, behind a real HAProxy: each pair leaves one after the other, and a backend is without a server
// hardly ever, and then for two check intervals at most, or as long as rise takes, and one more on a busy
// machine. How often depends on the round trip, so the short form, one round of four pairs beside other
// suites, only asserts for how long. PMCHECK_TRIALS=13 has thirteen rounds of eight pairs.
func TestPairsDrainedInTheSameMoment(t *testing.T) {
	lab.Real(t)
	rounds, pairs, inter := 1, 4, time.Second
	trials, err := strconv.Atoi(os.Getenv("PMCHECK_TRIALS"))
	if err == nil {
		rounds, pairs, inter = trials, 8, 500*time.Millisecond
	}
	graceful := " option httpchk GET /?drain=404\n http-check disable-on-404\n http-check send-state\n"
	plain := " option httpchk GET /\n http-check send-state\n"
	table := "| Pairs | Trials | Without a server | longest | A pair took |\n| --- | ---: | ---: | ---: | ---: |\n"
	for _, kind := range []struct {
		name, global, check string
		most                time.Duration // without a server
	}{
		{"404", "", graceful, 3 * inter},
		{"404 in locked phases", " max-spread-checks 1\n", graceful, 3 * inter},
		{"503 after fall 3", "", plain, 4 * inter},
		{"503 with downinter 5s", "", plain + " default-server downinter 5s\n", 5*time.Second + 4*inter},
	} {
		t.Run(kind.name, func(t *testing.T) {
			config := "global\n node lb1\n" + kind.global + tcpDefaults
			var list [][2]*lab.Site
			for i := range pairs {
				config += fmt.Sprintf("backend pair%d\n%s default-server check inter %dms fall 3 rise 2 weight 100\n",
					i, kind.check, inter.Milliseconds())
				var pair [2]*lab.Site
				for j := range pair {
					pair[j] = lab.StartSite(t, lab.SiteOptions{Name: fmt.Sprintf("p%dm%d", i, j)})
					config += fmt.Sprintf(" server m%d %s\n", j, pair[j].Listen)
				}
				list = append(list, pair)
			}
			h := list[0][0].Balance(config)
			var empty, took []time.Duration
			for range rounds {
				e, d := drainPairs(t, h, list)
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
			if trials > 0 && 20*without > len(empty) {
				t.Errorf("%d of %d backends had no server for a moment", without, len(empty))
			}
		})
	}
	t.Logf("measured:\n%s", table)
}

// drainPairs drains both masters of each pair at once, and makes each ready when it is out. It returns for
// how long each backend was without a server, and how long all of it took.
func drainPairs(t *testing.T, h *lab.HAProxy, list [][2]*lab.Site) (empty []time.Duration, took time.Duration) {
	t.Helper()
	for _, pair := range list {
		for _, s := range pair {
			waitForView(s, "UP", "100/200")
		}
	}
	record := lab.StartRecord(t, 5*time.Millisecond, func() string { return upByBackend(h, len(list)) })
	began := time.Now()
	var work sync.WaitGroup
	for _, pair := range list {
		for _, s := range pair {
			work.Go(func() {
				if out, status := s.Run("drain", "--wait=2m"); status != 0 {
					t.Errorf("drain ends with %d:\n%s", status, out)
				}
				if out, status := s.Run("ready", "--wait=1m"); status != 0 {
					t.Errorf("ready ends with %d:\n%s", status, out)
				}
			})
		}
	}
	work.Wait()
	took = time.Since(began)
	empty = make([]time.Duration, len(list))
	changes := record.Stop().Changes()
	since := make([]time.Time, len(list))
	for _, c := range changes {
		for i, up := range strings.Split(c.Answer, " ") {
			switch {
			case i >= len(list) || up != "0" && since[i].IsZero():
			case up == "0" && since[i].IsZero():
				since[i] = c.At
			case up != "0":
				empty[i], since[i] = max(empty[i], c.At.Sub(since[i])), time.Time{}
			}
		}
	}
	return empty, took
}

// upByBackend returns how many servers each backend has UP.
func upByBackend(h *lab.HAProxy, backends int) string {
	stats, err := h.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	up := make([]int, backends)
	for _, s := range stats {
		n, err := strconv.Atoi(strings.TrimPrefix(s.Backend, "pair"))
		if err == nil && n < backends && strings.HasPrefix(s.Status, "UP") {
			up[n]++
		}
	}
	return strings.Trim(fmt.Sprint(up), "[]")
}
