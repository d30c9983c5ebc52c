package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// pageFuncs are the words of the template.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"ago":       func(t, now time.Time) string { return span(now.Sub(t)) + " ago" },
		"lasted":    func(t, now time.Time) string { return span(now.Sub(t)) },
		"left":      left,
		"clock":     func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") },
		"date":      func(t time.Time) string { return t.Local().Format("2006-01-02") },
		"timeofday": func(t time.Time) string { return t.Local().Format("15:04:05 MST") },
		"rfc3339":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"seconds":   func(s float64) string { return span(time.Duration(s * float64(time.Second))) },
		"tone":      func(s api.ServiceStatus) string { tone, _, _ := conclusion(s); return tone },
		"mood":      mood,
	}
}

// mood is the tone of a check.
func mood(s check.State) string {
	switch s {
	case check.StateOK:
		return "good"
	case check.StateWarn:
		return "note"
	case check.StateBad:
		return "bad"
	}
	return "lost"
}

// left says how far ahead a time is, or for how long it has passed.
func left(t, now time.Time) string {
	if t.After(now) {
		return "in " + span(t.Sub(now))
	}
	return span(now.Sub(t)) + " ago"
}

// span writes a time to the precision that people care for.
func span(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60), " 0 min")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// millis writes a latency.
func millis(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// oldestLoans returns the loans that have lasted longest.
func oldestLoans(loans []check.Loan) []check.Loan {
	sorted := slices.Clone(loans)
	slices.SortStableFunc(sorted, func(a, b check.Loan) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return sorted[:min(maxLoansShown, len(sorted))]
}

// shellQuote makes text one word of a shell.
func shellQuote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
