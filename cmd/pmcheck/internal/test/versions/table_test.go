//go:build linux

package versions_test

import (
	"strings"
	"sync"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A table has a column for each release. Each cell is what a test has measured. It is safe
// for concurrent use.
type table struct {
	mu    sync.Mutex
	rows  []string // in the order in which their first cell was noted
	cells map[[2]string]string
}

func (t *table) note(row, suite, cell string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := false
	for _, r := range t.rows {
		known = known || r == row
	}
	if !known {
		t.rows = append(t.rows, row)
	}
	t.cells[[2]string{row, suite}] = cell
}

// String returns the table in Markdown. A cell without a measurement says so.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	b.WriteString("| |")
	for _, r := range lab.Releases() {
		b.WriteString(" Debian " + r.Suite + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(lab.Releases())) + "\n")
	for _, row := range t.rows {
		b.WriteString("| " + row + " |")
		for _, r := range lab.Releases() {
			cell, measured := t.cells[[2]string{row, r.Suite}]
			if !measured {
				cell = "not measured"
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
