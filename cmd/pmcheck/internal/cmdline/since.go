package cmdline

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// ParseSince parses a moment in the past, as people write it: how long ago (7d, 2h ago), a date,
// a date and a time of day, today, yesterday, or RFC 3339. Without a zone it is in the zone
// of now. A time of day alone is the last such time.
func ParseSince(s string, now time.Time) (time.Time, error) {
	year, month, day := now.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	switch s {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if clock, err := time.Parse("15:04", s); err == nil {
		since := time.Date(year, month, day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if since.After(now) {
			since = time.Date(year, month, day-1, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		}
		return since, nil
	}
	layouts := []string{
		time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05",
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	length := strings.TrimSuffix(strings.TrimPrefix(s, "-"), " ago")
	if ago, err := config.ParseDuration(length); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	const want = `write 7d, 15:04, 2006-01-02, "2006-01-02 15:04", today, yesterday or RFC 3339`
	return time.Time{}, fmt.Errorf("cannot parse time %q: %s", s, want)
}
