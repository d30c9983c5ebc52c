package check

import (
	"encoding/json"
	"testing"
	"time"
)

// One that is not fit for JSON would leave the whole status without an answer.
func TestTimesOfDeploymentsAreFitForJSON(t *testing.T) {
	tests := []struct {
		name, text string
		want       time.Time
	}{
		{"Ruby's format", "2026-01-02 03:04:05 +0200", time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)},
		{"with the name of UTC", "2026-01-02 03:04:05 UTC", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"RFC 3339", "2026-01-02T03:04:05+02:00", time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)},
		{"a zone of a whole day", "2026-01-02 03:04:05 +2400", time.Date(2026, 1, 1, 3, 4, 5, 0, time.UTC)},
		{"after the year 9999 in UTC", "9999-12-31 23:59:59 -1200", time.Time{}},
		{"before the year 0 in UTC", "0000-01-01 00:00:00 +1200", time.Time{}},
		{"another text", "yesterday", time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := deployTime(tt.text)
			if _, err := json.Marshal(got); err != nil || got != tt.want {
				t.Errorf("%s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
