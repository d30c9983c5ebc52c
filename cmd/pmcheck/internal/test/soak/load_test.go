package soak_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The load, and the limit for the latency of 999 in 1000 answers.
const (
	perSecond = 500
	balancers = 20
	maxTail   = 50 * time.Millisecond
)

// A soak is one run: what is true while balancers ask, and what came of it.
type soak struct {
	site       *lab.Site
	held, sick truth
	toggles    int
	resources  []*resource

	mu      sync.Mutex // protects what follows
	took    []time.Duration
	answers map[int]int // by status code
}

// balancer sends requests at a fixed rate until ctx ends, or an answer is missing or wrong. Latency is measured from
// the time at which a request was due, so a request that is sent late adds to it.
func (s *soak) balancer(ctx context.Context, number int, first time.Time) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	url, drained := "http://"+s.site.Listen+"/", http.StatusServiceUnavailable
	if number%3 == 0 {
		url, drained = url+"?drain=404", http.StatusNotFound
	}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if number%4 < 2 {
		req.Header.Set("X-Haproxy-Server-State",
			fmt.Sprintf("UP; name=puppet/m1; node=lb%d; weight=1/2; scur=0/0; qcur=0", number))
	}
	for due := first; pause(ctx, time.Until(due)); due = due.Add(time.Second * balancers / perSecond) {
		held, sick := s.held.phase.Load(), s.sick.phase.Load()
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		answered := time.Now()
		if err != nil {
			return err
		}
		if err := s.judge(resp.StatusCode, strings.TrimSpace(string(body)), drained, held, sick); err != nil {
			return err
		}
		s.mu.Lock()
		s.took = append(s.took, lab.Between(due, answered))
		s.answers[resp.StatusCode]++
		s.mu.Unlock()
	}
	return nil
}

// judge returns an error if an answer was wrong at every moment since the phases in which the request was sent, for
// a balancer that chose a code for drains.
func (s *soak) judge(code int, body string, drained int, heldPhase, sickPhase int64) error {
	free, held := s.held.since(heldPhase)
	well, sick := s.sick.since(sickPhase)
	verdict, _, isVerdict := strings.Cut(body, ": ")
	switch {
	case held && code == drained && body == "drain":
	case free && well && code == http.StatusOK && body == lab.ServingBody:
	case free && sick && code == http.StatusServiceUnavailable && isVerdict && verdict != "healthy":
	default:
		return fmt.Errorf("%d %q; it may have been held: %v, not held: %v, sick: %v, well: %v",
			code, body, held, free, sick, well)
	}
	return nil
}

// A resource is a metric of the daemon in which a leak would show, with one value per second.
type resource struct {
	name, metric string
	unit         float64 // in which the table has it
	noise        float64 // growth that is no leak, in units
	values       []float64
}

// newResources sets the limits of growth. A connection uses a descriptor and two goroutines for a millisecond, so
// a sample is off by a few. A leak of one per restart would add 3 in a third of the run, one per rotation 10, and
// one per toggle hundreds. Memory is mostly heap, whose size varies by a few percent of 20 MiB between collections.
func newResources() []*resource {
	return []*resource{
		{name: "resident memory, MiB", metric: "process_resident_memory_bytes", unit: 1 << 20, noise: 1},
		{name: "goroutines", metric: "go_goroutines", unit: 1, noise: 4},
		{name: "descriptors", metric: "process_open_fds", unit: 1, noise: 4},
	}
}

// sample reads the metrics each second until ctx ends.
func (s *soak) sample(ctx context.Context) error {
	for pause(ctx, time.Second) {
		code, text, err := s.site.Ask("/metrics")
		if err != nil {
			return err
		}
		for _, r := range s.resources {
			found := regexp.MustCompile(`(?m)^` + r.metric + ` (\S+)$`).FindStringSubmatch(text)
			if found == nil {
				return fmt.Errorf("/metrics: %d without %s", code, r.metric)
			}
			v, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				return err
			}
			r.values = append(r.values, v/r.unit)
		}
	}
	return nil
}

// levels returns the mean of the last third, and by how much it is above that of the second. In the first third,
// buffers and the heap grow to the size that the load needs, and the runtime starts its threads.
func (r *resource) levels() (last, grown float64) {
	n := len(r.values) / 3
	for i := range n {
		last += r.values[2*n+i] / float64(n)
		grown += (r.values[2*n+i] - r.values[n+i]) / float64(n)
	}
	return last, grown
}

// report returns the rows of the table, and fails the test if a value is out of bounds.
func (s *soak) report(t *testing.T) string {
	t.Helper()
	slices.Sort(s.took)
	share := func(per1000 int) time.Duration { return s.took[(len(s.took)-1)*per1000/1000] }
	if tail := share(999); tail > maxTail {
		t.Errorf("p99.9 is %v, want %v at most", tail, maxTail)
	}
	ms := func(per1000 int) string { return fmt.Sprintf("%.1f ms", share(per1000).Seconds()*1e3) }
	rows := fmt.Sprintf("| answers, each checked against the state at that moment | "+
		"%d: %d of 200, %d of 503, %d of 404 |\n"+
		"| latency from when a question was due | p50 %s, p99 %s, p99.9 %s, at most %s |\n",
		len(s.took), s.answers[200], s.answers[503], s.answers[404], ms(500), ms(990), ms(999), ms(1000))
	for _, r := range s.resources {
		last, grown := r.levels()
		rows += fmt.Sprintf("| %s | %.1f, %+.2f in the last third |\n", r.name, last, grown)
		if grown > r.noise {
			t.Errorf("%s grew by %.2f, want %.2f at most", r.name, grown, r.noise)
		}
	}
	return rows
}
