package daemon_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/drain"
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
		{"two", func(c *config.Config) { c.MaxConnections, c.InitialMode = 7, drain.Maint }, "max_connections, initial_mode"},
		{"the same two again", func(c *config.Config) { c.MaxConnections, c.InitialMode = 7, drain.Maint },
			"max_connections, initial_mode"},
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
			if warnings != "" || strings.Contains(said, "restart pmcheck") { // the probe may warn, of a certificate
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

func TestMasterIsInUseAnHourAfterItFirstServed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.waitFor(200, answer.Serving)
	if _, err := r.store.Put(drain.Hold{Holder: "plan", Mode: drain.Drain}); err != nil {
		t.Fatal(err)
	}
	r.waitFor(503, "drain")
	for after, want := range map[time.Duration]bool{
		time.Minute:             false,
		59 * time.Minute:        false,
		time.Hour + time.Second: true,
	} {
		if got := r.Status(time.Now().Add(after)).InUse(); got != want {
			t.Errorf("after %v: in use %v, want %v", after, got, want)
		}
	}
}

// A reload must not accept a directory whose holds are lost.
func TestMasterWithAReplacedDirectoryIsNotInUse(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.waitFor(200, answer.Serving)
	if err := os.Rename(r.store.Persistent, r.store.Persistent+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.store.Persistent, 0o755); err != nil {
		t.Fatal(err)
	}
	r.waitFor(503, "maint")
	if r.Status(time.Now().Add(2 * time.Hour)).InUse() {
		t.Error("in use")
	}
}

func TestMasterThatNeverServedIsNotInUse(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) { c.InitialMode = drain.Maint })
	r.waitFor(503, "maint")
	if r.Status(time.Now().Add(24 * time.Hour)).InUse() {
		t.Error("a new master that was never made ready is in use")
	}
}
