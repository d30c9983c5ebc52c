package monitor_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// The check puppetdb gives PuppetDB 10 s, which is longer than the deadline here. The checks end at
// nine tenths of the deadline, so half a second is left.
func TestTheVerdictOnAMasterThatHangsIsKnownBeforeTheDeadline(t *testing.T) {
	master, err := checktest.NewMaster(filepath.Join(t.TempDir(), "puppet"), "puppet1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := master.Set(checktest.Silent); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Options{Environ: []string{
		"PMCHECK_PUPPET_CONF=" + filepath.Join(master.Dir, "puppet.conf"),
		"PMCHECK_PROBE_ADDRESS=" + master.Address(),
		"PMCHECK_PROBE_TIMEOUT=50ms",
		"PMCHECK_PUPPETDB_ADDRESS=" + master.Address(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	verdict, _, findings := monitor.Once(ctx, loaded.Config)
	if ctx.Err() != nil {
		t.Error("the deadline is over")
	}
	if verdict.Health != check.Unhealthy || verdict.Reason != check.Timeout {
		t.Errorf("%s: %s, want unhealthy: timeout", verdict.Health, verdict.Reason)
	}
	for _, f := range findings {
		if f.Check == check.CheckPuppetDB && f.Reason == check.Timeout {
			return
		}
	}
	t.Errorf("puppetdb was not ended: %v", findings)
}
