//go:build linux

package pool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A row is what came of one operation.
type row struct {
	operation string
	mix       mix
	runs      []run
	began     time.Time // of the operation
	took      time.Duration
}

func (r row) failed() (list []run) {
	for _, one := range r.runs {
		if one.err != nil {
			list = append(list, one)
		}
	}
	return list
}

// report logs when each failed run failed, and why.
func (r row) report(t *testing.T) {
	t.Helper()
	for _, f := range r.failed() {
		t.Logf("failed %s into the operation, %s after it began: %v",
			tenths(f.ended.Sub(r.began)), tenths(f.ended.Sub(f.began)), f.err)
	}
}

func (r row) String() string {
	real := 0
	for _, one := range r.runs {
		real += btoi(one.real)
	}
	rest := func(one run) bool { return one.ended.Before(r.began) }
	during := func(one run) bool { return one.ended.After(r.began) && one.began.Before(r.began.Add(r.took)) }
	return fmt.Sprintf("| %s | %s | %d (%d) | %d | %s | %s |",
		r.operation, r.mix, len(r.runs), real, len(r.failed()), r.tail(rest), r.tail(during))
}

// tail is the p95 of some of the runs, by kind.
func (r row) tail(some func(run) bool) string {
	var quicks, slows []run
	for _, one := range r.runs {
		switch {
		case !some(one):
		case one.slow:
			slows = append(slows, one)
		default:
			quicks = append(quicks, one)
		}
	}
	var parts []string
	for _, kind := range [][]run{quicks, slows} {
		if len(kind) > 0 {
			parts = append(parts, tenths(p95(kind)))
		}
	}
	return strings.Join(parts, ", ")
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// table is the rows as the README has them.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| Operation | Catalogs | Runs (real) | Failed | p95 at rest | p95 meanwhile |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
