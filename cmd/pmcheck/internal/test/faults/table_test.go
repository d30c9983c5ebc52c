package faults_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

type row struct {
	fault
	began time.Time // start of the fault
	// answer is the change with which pmcheck reported the fault, if it has an expected answer, and
	// back the one with which it reported the master as back.
	answer, back lab.Change
	mended       time.Time
}

type table struct{ rows []row }

// String returns a list in Markdown: an item for all faults of an area that pmcheck answered alike, with the
// longest times.
func (t *table) String() string {
	var order []string
	alike := map[string][]row{}
	for _, r := range t.rows {
		key := r.area + ", " + r.told()
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], r)
	}
	b := &strings.Builder{}
	for _, key := range order {
		var after, back time.Duration
		var names []string
		for _, r := range alike[key] {
			names = append(names, r.name)
			if r.said != nil {
				after, back = max(after, r.answer.At.Sub(r.began)), max(back, r.back.At.Sub(r.mended))
			}
		}
		item := "- " + key
		if after > 0 {
			item += fmt.Sprintf(" after %s, 200 again after %s", seconds(after), seconds(back))
		}
		fmt.Fprintln(b, wrap(item+": "+strings.Join(names, "; ")))
	}
	return b.String()
}

// wrap breaks an item between words, to lines of at most 116 columns.
func wrap(item string) string {
	lines := []string{""}
	for _, word := range strings.Fields(item) {
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= 116:
			*last += " " + word
		default:
			lines = append(lines, "  "+word)
		}
	}
	return strings.Join(lines, "\n")
}

func (r row) told() string {
	switch {
	case r.gaps:
		return "200 or no answer"
	case r.said == nil:
		return "200 all the time"
	}
	return "`" + strings.ReplaceAll(strings.Join(r.said, "`, `"), "503 ", "") + "`"
}

func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
