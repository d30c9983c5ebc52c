package cmdline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
)

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 22, 9, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"7d":                   "2026-11-15T09:30:00+01:00",
		"90m":                  "2026-11-22T08:00:00+01:00",
		"-90m":                 "2026-11-22T08:00:00+01:00",
		"7d ago":               "2026-11-15T09:30:00+01:00",
		"today":                "2026-11-22T00:00:00+01:00",
		"yesterday":            "2026-11-21T00:00:00+01:00",
		"09:00":                "2026-11-22T09:00:00+01:00",
		"10:00":                "2026-11-21T10:00:00+01:00",
		"2026-11-01":           "2026-11-01T00:00:00+01:00",
		"2026-11-01 12:30":     "2026-11-01T12:30:00+01:00",
		"2026-11-01T12:30:00Z": "2026-11-01T12:30:00Z",
		"0s":                   "",
		"last week":            "",
		"":                     "",
	} {
		got, err := cmdline.ParseSince(text, now)
		if want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("cannot parse time %q: write ", text)) {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		} else if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v, want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
}
