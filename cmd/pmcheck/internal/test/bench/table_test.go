//go:build linux

package bench_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// short reports whether BenchmarkLooking only has to show that it runs.
func short() bool { return os.Getenv("PMCHECK_BENCH_SHORT") != "" }

// mebibytes formats a number of bytes.
func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/mebibyte) }

const mebibyte = 1 << 20

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ratio returns the median of the ratios of values measured in the same round.
func ratio(values, to []float64) float64 {
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / to[i]
	}
	return median(ratios)
}

// A table holds the results of one benchmark.
type table struct {
	title string
	rows  [][]string
	notes []string // remarks
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// add registers the table, to be printed at the end.
func (t *table) add(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // hides the time of the whole benchmark, which means nothing
	tables = append(tables, t)
}

// String returns the table as text for a terminal.
func (t *table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n", t.title)
	w := tabwriter.NewWriter(&s, 0, 0, 3, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	w.Flush()
	for _, n := range t.notes {
		fmt.Fprintf(&s, "  %s\n", n)
	}
	return s.String()
}

// markdown returns the table for proof.md. The first row is the header. A table with two
// columns gets an empty header instead.
func (t *table) markdown() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s:\n\n", t.title)
	rows := t.rows
	if len(rows[0]) <= 2 {
		rows = append([][]string{make([]string, len(rows[0]))}, rows...)
	}
	for i, cells := range rows {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&s, "|%s\n", strings.Repeat(" --- |", len(cells)))
		}
	}
	for _, n := range t.notes {
		fmt.Fprintf(&s, "\n%s\n", n)
	}
	return s.String()
}
