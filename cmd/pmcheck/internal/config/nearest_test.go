package config_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestNearestSuggestsOnlyTypingErrors(t *testing.T) {
	words := []string{"hold", "for", "json", "drain", "maint", "until", "reason", "until-reboot", "probe.timeout", "c"}
	for word, want := range map[string]string{
		"hols":         "hold",
		"drian":        "drain",
		"train":        "drain",
		"timout":       "probe.timeout",
		"probe.timout": "probe.timeout",
		"host":         "", // two of four letters make it hold
		"fro":          "",
		"point":        "",
		"x":            "",
		"":             "",
	} {
		if got := config.Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
