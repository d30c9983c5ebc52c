package page

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// pageFuncs returns the functions of the template.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"ago":       func(t, now time.Time) string { return text.Age(now.Sub(t)) + " ago" },
		"lasted":    func(t, now time.Time) string { return text.Age(now.Sub(t)) },
		"left":      left,
		"clock":     text.Clock,
		"ending":    end,
		"join":      func(list []string) string { return strings.Join(list, ", ") },
		"date":      func(t time.Time) string { return t.Local().Format("2006-01-02") },
		"timeofday": func(t time.Time) string { return t.Local().Format("15:04:05 MST") },
		"rfc3339":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"seconds":   func(s float64) string { return text.Age(api.Seconds(s)) },
		"tone":      func(s api.ServiceStatus) string { tone, _, _ := conclusion(s); return tone },
		"mood":      mood,
	}
}

// mood returns the color, as a class of the style sheet, of a check's state.
func mood(s check.State) string {
	tones := map[check.State]string{check.StateOK: "good", check.StateWarn: "note", check.StateBad: "bad"}
	return cmp.Or(tones[s], "lost")
}

// left returns how far a time is in the future or in the past.
func left(t, now time.Time) string {
	if t.After(now) {
		return "in " + text.Age(t.Sub(now))
	}
	return text.Age(now.Sub(t)) + " ago"
}

// oldest returns the loans that have lasted longest, n at most.
func oldest(loans []check.Loan, n int) []check.Loan {
	sorted := slices.SortedStableFunc(slices.Values(loans), func(a, b check.Loan) int {
		return cmp.Compare(b.Seconds, a.Seconds)
	})
	return sorted[:min(n, len(sorted))]
}
