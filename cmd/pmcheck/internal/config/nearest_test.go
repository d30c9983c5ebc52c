package config_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestNearestSuggestsOnlyTypingErrors(t *testing.T) {
	words := []string{"hold", "for", "json", "drain", "maint", "until", "reason", "until-reboot", "probe.timeout", "c"}
	for _, tt := range []struct{ word, want string }{
		{"host", ""}, // two of four letters make it hold
		{"hols", "hold"},
		{"fro", ""},
		{"drian", "drain"},
		{"drina", "drain"},
		{"brain", "drain"},
		{"train", "drain"},
		{"paint", "maint"},
		{"point", ""},
		{"until-rebot", "until-reboot"},
		{"raeson", "reason"},
		{"timout", "probe.timeout"},
		{"probe.timout", "probe.timeout"},
		{"x", ""},
		{"", ""},
	} {
		t.Run(tt.word, func(t *testing.T) {
			if got := config.Nearest(tt.word, words); got != tt.want {
				t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
			}
		})
	}
}
