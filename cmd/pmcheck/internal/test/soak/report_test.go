//go:build linux

package soak_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxTail is the limit for the latency of 999 in 1000 answers.
const maxTail = 50 * time.Millisecond

// report fails the test if a measured value is out of bounds, and returns all values as a
// table.
func report(t *testing.T, clients []*balancer, r resources, what string) string {
	t.Helper()
	var took []time.Duration
	answers := map[int]int{}
	for _, b := range clients {
		took = append(took, b.took...)
		for code, n := range b.answers {
			answers[code] += n
		}
	}
	slices.Sort(took)
	share := func(per1000 int) time.Duration { return took[len(took)*per1000/1000] }
	if tail := share(999); tail > maxTail {
		t.Errorf("p99.9 is %v, want %v at most", tail, maxTail)
	}
	latency := fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, at most %s",
		milliseconds(share(500)), milliseconds(share(990)), milliseconds(share(999)), milliseconds(took[len(took)-1]))

	b := &strings.Builder{}
	fmt.Fprintf(b, "| %s | |\n| --- | --- |\n", what)
	fmt.Fprintf(b, "| answers, each checked against the state at that moment | %d: %d of 200, %d of 503, %d of 404 |\n",
		len(took), answers[http.StatusOK], answers[http.StatusServiceUnavailable], answers[http.StatusNotFound])
	fmt.Fprintf(b, "| latency from when a question was due | %s |\n", latency)
	for _, s := range r.all() {
		fmt.Fprintf(b, "| %s | %.1f%s, %+.2f%[3]s in the last third |\n", s.name, s.level(), s.unit, s.grown())
		if s.grown() > s.allowed() {
			t.Errorf("%s grew by %.2f%s, want %.2f at most", s.name, s.grown(), s.unit, s.allowed())
		}
	}
	return b.String()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }
