// Package text formats durations and foreign text the way pmcheck shows them
// everywhere: on a terminal, on the page, in JSON and in its configuration.
package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const day = 24 * time.Hour

// Duration formats a duration exactly, and omits trailing units that are zero: 2s,
// 1m30s, 36h. From 48 hours on, whole days are written as days: 30d. The result can be
// parsed by time.ParseDuration, or, with days, by a parser that knows d.
func Duration(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}

	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Age formats a duration with the precision that readers need: tenths of a second
// below 10 seconds, seconds below 2 minutes, minutes below 48 hours, and days from
// there on. Minutes and days are rounded down: 29.9 days become 29.
func Age(d time.Duration) string {
	abs := d.Abs()
	switch {
	case abs < 10*time.Second:
		return Duration(d.Round(100 * time.Millisecond))
	case abs < 2*time.Minute:
		return Duration(d.Round(time.Second))
	case abs < 2*day:
		return Duration(d.Truncate(time.Minute))
	default:
		return Duration(d.Truncate(day))
	}
}

// Clock returns a moment in the local time zone, to the second and with the zone's name.
func Clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// When returns a moment both ways: how far from now, and by the clock.
func When(t, now time.Time) string {
	if t.After(now) {
		return fmt.Sprintf("in %s (%s)", Age(t.Sub(now)), Clock(t))
	}
	return fmt.Sprintf("%s ago (%s)", Age(now.Sub(t)), Clock(t))
}

// Printable makes foreign text safe to show on a terminal: valid UTF-8 on one line,
// without control characters, of at most limit bytes. Text that Printable has returned is left as it is.
func Printable(s string, limit int) string {
	enough := min(len(s), 4*limit) // s may be of any length, and some of it is dropped
	s = strings.ToValidUTF8(s[:enough], "")
	s = strings.Map(printable, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.TrimSpace(strings.ToValidUTF8(s[:limit], ""))
	}
	return s
}

// printable returns r, a space for any space, or -1 for what a terminal must not get.
func printable(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	if !unicode.IsPrint(r) {
		return -1
	}
	return r
}

// Exact returns a name as it is if it has nothing but visible ASCII characters, and otherwise quoted with escapes: a
// no-break space or a letter of another alphabet makes two names differ that look alike.
func Exact(name string) string {
	isOdd := func(r rune) bool { return r <= ' ' || r > '~' }
	if name != "" && !strings.ContainsFunc(name, isOdd) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// Show returns s for a one-line message: quoted unless it is a plain word, and truncated if it is long.
func Show(s string) string {
	quoted := fmt.Sprintf("%.60q", s)
	if strings.Contains(s, " ") || len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}

// First returns the first items of a list and, if it has more than most, how many more.
func First(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
