package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
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
	r.Refuse("not reloaded", fmt.Errorf("line 1: nonsense"))
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
	for _, on := range []bool{true, false} {
		r.Reload(c, "test.yaml")
		for end := time.Now().Add(10 * time.Second); (r.Status(time.Now()).Budget != nil) != on; time.Sleep(pollEvery) {
			if time.Now().After(end) {
				t.Fatalf("the status after the reload has a budget: %v, want %v", !on, on)
			}
		}
		c.Budget.Database = ""
	}
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
	for end := time.Now().Add(10 * time.Second); r.Status(time.Now()).Probe.Count == before; {
		if time.Now().After(end) {
			t.Fatal("no probe after the reload")
		}
	}
	if probe := r.Status(time.Now()).Probe; probe.Fault != "" {
		t.Errorf("the probe after the reload: %s; want the last good files in use", probe.Fault)
	}
}
