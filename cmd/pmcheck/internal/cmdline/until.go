package cmdline

import (
	"fmt"
	"slices"
	"time"
)

// ParseUntil reads when a hold ends, as people write it: in the zone of now, or
// with a zone as in RFC 3339. A time of day is the next one; whether that is
// tomorrow is worth saying.
//
// A local time can occur twice in a night, or not at all. If it occurs twice, the first
// occurrence that is still to come is meant. If the clock skips it, the moment of the
// skip is meant.
func ParseUntil(s string, now time.Time) (until time.Time, tomorrow bool, err error) {
	if clock, err := time.Parse("15:04", s); err == nil {
		year, month, day := now.Date()
		for days := range 2 {
			wall := time.Date(year, month, day+days, clock.Hour(), clock.Minute(), 0, 0, time.UTC)
			if until := next(wall, now); until.After(now) {
				return until, days > 0, nil
			}
		}
	}
	until, err = time.Parse(time.RFC3339, s)
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if wall, bad := time.Parse(layout, s); bad == nil {
			until, err = next(wall, now), nil
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

// next returns the first moment after now at which the clock in the zone of now
// shows wall, whose own zone is ignored. If there is none left, it returns the last one.
func next(wall, now time.Time) time.Time {
	moments := moments(wall, now.Location())
	for _, t := range moments {
		if t.After(now) {
			return t
		}
	}
	return moments[len(moments)-1]
}

// moments returns the moments at which a clock shows wall, in order. At least one
// is returned: for a time that the clock skips, the moment of the skip.
func moments(wall time.Time, zone *time.Location) (list []time.Time) {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
	for _, near := range []time.Time{at.Add(-24 * time.Hour), at.Add(24 * time.Hour)} {
		_, offset := near.In(zone).Zone()
		t := at.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, then := t.Zone(); then == offset && !slices.ContainsFunc(list, t.Equal) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		list = append(list, passes(at, zone))
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// passes returns the moment at which the clock jumps over wall: the change of zone
// next to it.
func passes(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	if !end.IsZero() && (start.IsZero() || end.Sub(t) < t.Sub(start)) {
		return end
	}
	return start
}
