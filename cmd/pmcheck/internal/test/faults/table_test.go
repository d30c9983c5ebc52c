//go:build linux

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A row holds the results of a fault.
type row struct {
	fault
	began time.Time // start of the fault
	// answer and state are the changes with which pmcheck and HAProxy reported the fault,
	// if it has an expected answer.
	answer, state lab.Change
	mended        time.Time
	back, up      lab.Change // the changes with which they reported the master as back
}

// A table holds the rows of all sites. It is safe for concurrent use.
type table struct {
	mu   sync.Mutex
	rows []row
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

func (t *table) String() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| Area | Fault | pmcheck said | after | HAProxy said | after | Recovered by | 200 after | UP after |")
	fmt.Fprintln(b, "| --- | --- | --- | ---: | --- | ---: | --- | ---: | ---: |")
	byArea := func(a, b row) int { return strings.Compare(a.area, b.area) } // sites add rows at the same time
	for _, r := range slices.SortedStableFunc(slices.Values(t.rows), byArea) {
		fmt.Fprintln(b, r)
	}
	return b.String()
}

func (r row) told() string {
	switch {
	case r.gaps:
		return "200 or no answer"
	case r.said == nil:
		return "200 all the time"
	}
	return "`" + strings.Join(r.said, "` or `") + "`"
}

func (r row) String() string {
	what := fmt.Sprintf("| %s | %s | %s |", r.area, r.name, r.told())
	if r.said == nil {
		return fmt.Sprintf("%s | UP | | %s | | |", what, r.by)
	}
	return fmt.Sprintf("%s %s | %s | %s | %s | %s | %s |", what, seconds(r.answer.At.Sub(r.began)),
		r.state.Answer, seconds(r.state.At.Sub(r.began)), r.by,
		seconds(r.back.At.Sub(r.mended)), seconds(r.up.At.Sub(r.mended)))
}

func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
