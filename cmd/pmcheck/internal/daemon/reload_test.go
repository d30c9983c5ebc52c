package daemon_test

import (
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
	must(t, err)
	defer other.Close()
	other.Set(checktest.Error)
	c := r.config
	c.Probe.Address = other.Address()
	r.reload(c)
	r.waitFor(503, "unhealthy: state-error")
}

// The daemon is not woken for a budget that it does not have: a reload wakes it.
func TestReloadSwitchesABudgetOnAndOff(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	c := r.config
	// No PostgreSQL is there, which the daemon reports.
	must(t, c.Budget.Database.UnmarshalText([]byte("postgres://"+r.master.Address()+"/pmcheck")))
	r.reload(c)
	r.waitUntil(func() bool { return r.Status(time.Now()).Budget != nil })
	c.Budget.Database = r.config.Budget.Database
	r.reload(c)
	r.waitUntil(func() bool { return r.Status(time.Now()).Budget == nil })
}

// A key that cannot be read does not take a master out, not even after a reload.
func TestReloadKeepsTheLastGoodFiles(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	must(t, os.WriteFile(r.config.Probe.Key, []byte("half of it"), 0o600))
	before := r.Status(time.Now()).Probe.Count
	r.reload(r.config)
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
		r.reload(c)
		warned := slices.ContainsFunc(r.Status(time.Now()).Warnings, func(w string) bool {
			return strings.Contains(w, "listen has changed")
		})
		if warned != (listen == ":7") {
			t.Errorf("listen: %s: warned %v", listen, warned)
		}
	}
}
