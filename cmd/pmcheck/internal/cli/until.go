package cli

import (
	"fmt"
	"time"
)

// parseUntil reads when a hold ends, as people write it: in the zone of now, or with a zone as in
// RFC 3339. A time of day is the next one; whether that is tomorrow is worth saying.
//
// A local time can occur twice in a night, or not at all. If it occurs twice, the first occurrence
// that is still to come is meant. If the clock skips it, the moment of the skip is meant.
func parseUntil(s string, now time.Time) (until time.Time, tomorrow bool, err error) {
	if clock, err := time.Parse("15:04", s); err == nil {
		year, month, day := now.Date()
		for days := range 2 {
			wall := time.Date(year, month, day+days, clock.Hour(), clock.Minute(), 0, 0, time.UTC)
			if until := nextTime(wall, now); until.After(now) {
				return until, days > 0, nil
			}
		}
	}
	until, err = time.Parse(time.RFC3339, s)
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if wall, bad := time.Parse(layout, s); bad == nil {
			until, err = nextTime(wall, now), nil
		}
	}
	switch {
	case err != nil:
		return time.Time{}, false, fmt.Errorf("cannot parse time %q: write 15:04, \"2006-01-02 15:04\" or RFC 3339", s)
	case !until.After(now):
		return time.Time{}, false, fmt.Errorf("%s is in the past", until.Format(time.RFC3339))
	}
	return until, false, nil
}

// nextTime returns the first moment after now at which the clock in the zone of now shows what wall
// shows in UTC, or the last such moment if there is none left. If the clock skips that time, it
// returns the moment of the skip.
func nextTime(wall, now time.Time) (last time.Time) {
	zone := now.Location()
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	first := wall.Add(-time.Duration(max(before, after)) * time.Second).In(zone)
	for _, t := range []time.Time{first, wall.Add(-time.Duration(min(before, after)) * time.Second).In(zone)} {
		if t.Format(time.DateTime) != wall.Format(time.DateTime) {
			continue
		}
		if last = t; t.After(now) {
			return t
		}
	}
	if last.IsZero() {
		_, last = first.ZoneBounds()
	}
	return last
}
