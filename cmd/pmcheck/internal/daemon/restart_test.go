package daemon_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestSettingsThatWaitForARestartAreNamedUntilThen(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		want   string // the settings
	}{
		{"one that a reload changes", func(c *config.Config) { c.Fleet = []string{"m2", c.Probe.Certname} }, ""},
		{"two", func(c *config.Config) { c.Listen, c.Log.Level = ":7", "debug" }, "listen, log"},
		{"the level of the log", func(c *config.Config) { c.Log.Level = "debug" }, "log"},
		{"as started again", func(*config.Config) {}, ""},
	} {
		c := r.config
		tt.change(&c)
		r.Reload(c, "test.yaml")
		warnings := strings.Join(r.Status(time.Now()).Warnings, "\n")
		_, named, _ := strings.Cut(warnings, "in effect after a restart of pmcheck: ")
		if named != tt.want {
			t.Errorf("%s: the status names %q, want %q", tt.name, named, tt.want)
		}
	}
}
