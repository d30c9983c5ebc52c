package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
)

func TestReloadChangesTheMaster(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	other, err := checktest.NewMasterWithCA(filepath.Join(t.TempDir(), "other"), r.master.Name, "127.0.0.1:0", r.master.CA)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.Set(checktest.Error)
	c := r.config
	c.Probe.Address = other.Address()
	r.Reload(c, "test.yaml")
	r.waitFor(503, "unhealthy: state-error")
	r.Refuse("not reloaded", errors.New("line 1: nonsense"))
	if got := r.Status(time.Now()).Config.Error; got != "line 1: nonsense" {
		t.Errorf("config error %q", got)
	}
}

// The daemon is not woken for a budget that it does not have: a reload wakes it.
func TestReloadSwitchesABudgetOnAndOff(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	c := r.config
	c.Budget.Database = "postgres://" + r.master.Address() + "/pmcheck" // no PostgreSQL, which it reports
	r.Reload(c, "test.yaml")
	r.waitUntil(func() bool { return r.Status(time.Now()).Budget != nil })
	c.Budget.Database = ""
	r.Reload(c, "test.yaml")
	r.waitUntil(func() bool { return r.Status(time.Now()).Budget == nil })
}

// A key that cannot be read does not take a master out, not even after a reload.
func TestReloadKeepsTheLastGoodFiles(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	if err := os.WriteFile(r.config.Probe.Key, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := r.Status(time.Now()).Probe.Count
	r.Reload(r.config, "test.yaml")
	r.waitUntil(func() bool { return r.Status(time.Now()).Probe.Count > before })
	if probe := r.Status(time.Now()).Probe; probe.Fault != "" {
		t.Errorf("the probe after the reload: %s; want the last good files in use", probe.Fault)
	}
}

func TestAnotherListenWaitsForARestart(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for _, listen := range []string{":7", r.config.Listen} {
		c := r.config
		c.Listen = listen
		r.Reload(c, "test.yaml")
		warned := slices.ContainsFunc(r.Status(time.Now()).Warnings, func(w string) bool {
			return strings.Contains(w, "listen has changed")
		})
		if warned != (listen == ":7") {
			t.Errorf("listen: %s: warned %v", listen, warned)
		}
	}
}
