package daemon_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// A PuppetDB that cannot reach its database takes longer to answer than the timeout of a
// probe.
func TestPuppetDBMayAnswerLate(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	db, err := checktest.NewMaster(filepath.Join(t.TempDir(), "puppetdb"), "puppetdb.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetPuppetDB(false, true, false)
	if err := db.Set(checktest.Silent); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *config.Config) {
		f := db.Files()
		c.Probe.Timeout = timeout
		c.Probe.Certificate, c.Probe.Key, c.Probe.CA, c.Probe.CRL = f.Certificate, f.Key, f.CA, f.CRL
		c.Probe.Certname = db.Name // as PuppetDB is on this host
		check.Settings[check.PuppetDBSettings](c.Checks).Address = db.Address()
	})
	time.Sleep(5 * timeout) // a probe would have timed out
	if err := db.Set(checktest.Running); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for r.Status(time.Now()).Services[1].Verdict.Checked.IsZero() {
		if time.Now().After(deadline) {
			t.Fatal("no verdict on PuppetDB")
		}
		time.Sleep(time.Millisecond)
	}
	const want = "PuppetDB cannot reach the database it writes to"
	if v := r.Status(time.Now()).Services[1].Verdict; v.Reason != check.PuppetDBDown || v.Detail != want {
		t.Errorf("PuppetDB is %s: %s, want %s: %s", v.Reason, v.Detail, check.PuppetDBDown, want)
	}
}
