package cli

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the host may have none
)

func TestUntilIsTheNextMomentThatTheClockShows(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const evening = "2026-11-21T19:00:00+01:00"
	for _, tt := range []struct{ text, now, want string }{
		{"20:00", evening, "2026-11-21T20:00:00+01:00"},
		{"18:00", evening, "2026-11-22T18:00:00+01:00"},
		{"19:00", evening, "2026-11-22T19:00:00+01:00"},
		{"18:00", "2026-10-24T19:00:00+02:00", "2026-10-25T18:00:00+01:00"}, // summer time ends
		{"2026-11-23 18:00", evening, "2026-11-23T18:00:00+01:00"},
		{"2026-11-21 18:59", evening, "2026-11-21 18:59 is in the past"},
	} {
		now, _ := time.Parse(time.RFC3339, tt.now)
		want, _ := time.Parse(time.RFC3339, tt.want)
		until, err := parseUntil(tt.text, now.In(zone))
		switch {
		case err != nil && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%q at %s: %v, want %s", tt.text, tt.now, err, tt.want)
		case err == nil && !until.Equal(want):
			t.Errorf("%q at %s: %s, want %s", tt.text, tt.now, until, tt.want)
		}
	}
}
