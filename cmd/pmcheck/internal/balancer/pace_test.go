package balancer

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTwoHAProxiesWithOneNameAreToldApart by what one alone cannot do. Each check is "seconds state", since the start,
// and "!" says that it is refused.
func TestTwoHAProxiesWithOneNameAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name, checks string
		twins        bool
	}{
		{"one that asks every 2 s", "0 UP, 2 UP, 4 UP, 6 UP, 8 UP, 10 UP", false},
		{"one whose check is late", "0 UP, 2 UP, 4 UP, 11 UP, 13 UP, 15 UP, 17 UP", false},
		{"one that took turns to slow down", "0 UP, 2 UP, 4.1 UP, 6.3 UP, 8.3 UP, 10.6 UP", false},
		{"one that is refused by 404", "0 UP, 2 UP!, 4 NOLB!, 6 NOLB!, 8 NOLB, 10 UP, 12 UP", false},
		{"one that is refused by 503, fastinter and downinter", "0 UP, 2 UP!, 2.5 UP 2/3!, 3 UP 1/3!, 33 DOWN!, 63 DOWN," +
			"63.5 DOWN 1/2, 64 UP, 66 UP, 68 UP", false},
		{"one that is reloaded while it is refused", "0 UP, 2 UP!, 4 NOLB!, 4.3 UP 1/3!, 6.3 NOLB!", false},
		{"fully UP after a refusal", "0 UP, 2 UP!, 4 UP", true},
		{"fully UP after it had the master out", "0 UP, 2 UP!, 4 NOLB!, 6 UP", true},
		{"every 2 s and every 2.6 s", "0 UP, 0.3 UP, 2 UP, 2.9 UP, 4 UP, 5.5 UP, 6 UP", true},
		{"every 2 s and every 4 s, in step", "0 UP, 1 UP, 2 UP, 4 UP, 5 UP, 6 UP, 8 UP, 9 UP, 10 UP, 12 UP", true},
	} {
		tracker, start := new(Tracker), time.Now()
		for check := range strings.SplitSeq(tt.checks, ",") {
			at, state, _ := strings.Cut(strings.TrimSpace(check), " ")
			code := 200
			if strings.HasSuffix(state, "!") {
				code = 404
			}
			seconds, err := strconv.ParseFloat(at, 64)
			if err != nil {
				t.Fatal(err)
			}
			header := strings.TrimSuffix(state, "!") + "; name=puppet/m1; node=lb1; weight=100/200"
			now := start.Add(time.Duration(seconds * float64(time.Second)))
			record(tracker, lb, Check{Header: header}, code, now)
		}
		if got := !tracker.All()[0].Twins.IsZero(); got != tt.twins {
			t.Errorf("%s: two are seen: %v, want %v", tt.name, got, tt.twins)
		}
	}
}
