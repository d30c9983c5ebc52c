//go:build linux

package e2e_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// hungScript mounts a file system that answers nothing, in a mount namespace
// that ends with the command it becomes.
const hungScript = `exec 3<>/dev/fuse
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung "$1"
shift
exec "$@"
`

// TestNoCheckDelaysAnother: a PuppetDB that accepts connections and never answers, and a
// file system that hangs, are reported as such. The probe keeps its interval.
func TestNoCheckDelaysAnother(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	r := lab.NewSite(t, lab.SiteOptions{})
	hung := filepath.Join(r.Dir, "hung")
	if err := os.Mkdir(hung, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Configure(fmt.Sprintf("probe: {interval: 500ms, timeout: 400ms}\ndisk: {paths: [%s, %s]}\n"+
		"puppetdb: {address: %q}\n", hung, r.Dir, startSilent(t)))
	r.Start("unshare", "--mount", "--", "sh", "-ec", hungScript, "sh", hung)
	r.WaitServing(20 * time.Second)
	r.WaitFinding(check.CheckDisk, check.NotKnown, 30*time.Second)
	r.WaitFinding(check.CheckPuppetDB, check.PuppetDBDown, 30*time.Second)
	for _, name := range []string{check.CheckDisk, check.CheckPuppetDB} {
		measured(t, name+", in words", lab.Finding(r.Status(), name).Detail)
	}

	// Ten more probes take ten intervals, however long the checks hang.
	const probes, interval = 10, 500 * time.Millisecond
	began, before := time.Now(), r.Status().Probe.Count
	took := r.WaitStatus(probes*interval+2*interval, func(s lab.Status) error {
		if n := s.Probe.Count - before; n < probes {
			return fmt.Errorf("%d probes, want %d", n, probes)
		}
		return nil
	})
	measured(t, "ten probes while two checks hang", took)
	if soonest := (probes - 2) * interval; time.Since(began) < soonest {
		t.Errorf("%d probes took %v, want %v at least", probes, took, soonest)
	}
	r.WaitVerdict("healthy: ok", time.Second)
}

// startSilent starts a listener that accepts and never answers, and returns its
// address.
func startSilent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", lab.Address(t, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel accepts; nothing reads
}
