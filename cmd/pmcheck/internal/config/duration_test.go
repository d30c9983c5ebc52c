package config_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestParseDurationNeedsAUnit(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"2s": 2 * time.Second, "1m30s": 90 * time.Second, "1.5h": 90 * time.Minute, "0": 0, "-1s": -time.Second,
		"30d": 30 * day, "2w": 14 * day, "1d12h": 36 * time.Hour,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"5", "1500", "soon", "", "1.5d", "999999d"} {
		if d, err := config.ParseDuration(text); err == nil {
			t.Errorf("%q: %s", text, d)
		}
	}
}
