package cli

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the host may have none
)

func TestUntilIsTheNextMomentThatTheClockShows(t *testing.T) {
	const berlin, newYork, utc = "Europe/Berlin", "America/New_York", "UTC"
	for _, tt := range []struct {
		name, zone, now, text, want string
		tomorrow                    bool
	}{
		{"later today", berlin, "2026-11-21T15:00:00+01:00", "18:00", "2026-11-21T18:00:00+01:00", false},
		{"passed today", berlin, "2026-11-21T19:00:00+01:00", "18:00", "2026-11-22T18:00:00+01:00", true},
		{"this very minute", berlin, "2026-11-21T18:00:00+01:00", "18:00", "2026-11-22T18:00:00+01:00", true},
		{"end of the year", utc, "2026-12-31T23:00:00Z", "01:00", "2027-01-01T01:00:00Z", true},
		{"date and time", berlin, "2026-11-21T19:00:00+01:00", "2026-11-23 18:00", "2026-11-23T18:00:00+01:00", false},
		{"seconds", berlin, "2026-11-21T19:00:00+01:00", "2026-11-23 18:00:30", "2026-11-23T18:00:30+01:00", false},
		{"like date(1)", berlin, "2026-11-21T19:00:00+01:00", "2026-11-23T18:00:30", "2026-11-23T18:00:30+01:00", false},
		{"RFC 3339", berlin, "2026-11-21T19:00:00+01:00", "2026-11-23T18:00:00Z", "2026-11-23T18:00:00Z", false},

		// Summer time ends on October 25 at 3:00 in Berlin, on November 1 at 2:00 in New York.
		{"both are to come", berlin, "2026-10-25T01:00:00+02:00", "02:30", "2026-10-25T02:30:00+02:00", false},
		{"one has passed", berlin, "2026-10-25T02:45:00+02:00", "02:30", "2026-10-25T02:30:00+01:00", false},
		{"the second passes now", berlin, "2026-10-25T02:30:00+01:00", "02:30", "2026-10-26T02:30:00+01:00", true},
		{"both have passed", berlin, "2026-10-25T02:45:00+01:00", "02:30", "2026-10-26T02:30:00+01:00", true},
		{"the evening before", berlin, "2026-10-24T22:00:00+02:00", "02:30", "2026-10-25T02:30:00+02:00", true},
		{"after the change", berlin, "2026-10-25T02:45:00+02:00", "03:30", "2026-10-25T03:30:00+01:00", false},
		{"with its date", berlin, "2026-10-25T02:45:00+02:00", "2026-10-25 02:30", "2026-10-25T02:30:00+01:00", false},
		{"both are to come", newYork, "2026-11-01T00:30:00-04:00", "01:30", "2026-11-01T01:30:00-04:00", false},
		{"one has passed", newYork, "2026-11-01T01:40:00-04:00", "01:30", "2026-11-01T01:30:00-05:00", false},
		{"both have passed", newYork, "2026-11-01T01:40:00-05:00", "01:30", "2026-11-02T01:30:00-05:00", true},
		{"in the second hour", newYork, "2026-11-01T01:20:00-05:00", "01:30", "2026-11-01T01:30:00-05:00", false},

		// It begins on March 29 at 2:00 in Berlin, on March 8 at 2:00 in New York.
		{"left out", berlin, "2026-03-29T01:00:00+01:00", "02:30", "2026-03-29T03:00:00+02:00", false},
		{"left out, and passed", berlin, "2026-03-29T03:10:00+02:00", "02:30", "2026-03-30T02:30:00+02:00", true},
		{"left out tomorrow", berlin, "2026-03-28T22:00:00+01:00", "02:30", "2026-03-29T03:00:00+02:00", true},
		{"left out, with date", berlin, "2026-03-28T22:00:00+01:00", "2026-03-29 02:59", "2026-03-29T03:00:00+02:00", false},
		{"left out", newYork, "2026-03-08T01:00:00-05:00", "02:01", "2026-03-08T03:00:00-04:00", false},
		{"not left out", newYork, "2026-03-08T01:00:00-05:00", "03:01", "2026-03-08T03:01:00-04:00", false},
	} {
		t.Run(tt.zone+", "+tt.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			got, tomorrow, err := parseUntil(tt.text, at(t, tt.now).In(zone))
			if err != nil || !got.Equal(at(t, tt.want)) || tomorrow != tt.tomorrow {
				t.Errorf("%s at %s is %s, tomorrow %t, %v; want %s, %t",
					tt.text, tt.now, got, tomorrow, err, tt.want, tt.tomorrow)
			}
		})
	}
}

func TestUntilRefusesTimesThatAreNotInTheFuture(t *testing.T) {
	now := at(t, "2026-11-21T19:00:00Z").UTC()
	for _, tt := range []struct{ text, want string }{
		{"yesterday", `cannot parse time "yesterday"`},
		{"25:00", "cannot parse"},
		{"", "cannot parse"},
		{"2026-11-21 18:59", "2026-11-21T18:59:00Z is in the past"},
		{"2026-11-21T19:00:00Z", "in the past"},
	} {
		if _, _, err := parseUntil(tt.text, now); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
