package daemon_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

func TestSettingsThatWaitForARestartAreNamedUntilThen(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r.Daemon = daemon.New(r.config, "test.yaml", "test", slog.New(slog.NewTextHandler(file, nil)))
	r.serve()
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		want   string // the settings
	}{
		{"as started", func(*config.Config) {}, ""},
		{"one that a reload changes", func(c *config.Config) { c.Fleet = []string{"m2", c.Probe.Certname} }, ""},
		{"two", func(c *config.Config) { c.Listen, c.Log.Level = ":7", "debug" }, "listen, log"},
		{"the same two again", func(c *config.Config) { c.Listen, c.Log.Level = ":7", "debug" }, "listen, log"},
		{"the level of the log", func(c *config.Config) { c.Log.Level = "debug" }, "log"},
		{"the certificate of the probe", func(c *config.Config) { c.Probe.Certificate = "/c" }, ""},
		{"as started again", func(*config.Config) {}, ""},
	} {
		c := r.config
		tt.change(&c)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		r.Reload(c, "test.yaml")
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		said, _, _ := strings.Cut(string(log), "configuration reloaded")
		warnings := strings.Join(r.Status(time.Now()).Warnings, "\n")
		if tt.want == "" {
			if strings.Contains(warnings, "restart of pmcheck") || strings.Contains(said, "restart pmcheck") {
				t.Errorf("%s: %q in the status, in the log:\n%s", tt.name, warnings, said)
			}
			continue
		}
		if !strings.HasSuffix(warnings, "in effect after a restart of pmcheck: "+tt.want) {
			t.Errorf("%s: %q in the status", tt.name, warnings)
		}
		if !strings.Contains(said, "level=WARN") || !strings.Contains(said, tt.want) {
			t.Errorf("%s: the log does not name %s:\n%s", tt.name, tt.want, said)
		}
	}
}
