package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// hungScript mounts a file system that answers nothing, in a mount namespace
// that ends with the command it becomes.
const hungScript = `exec 3<>/dev/fuse
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung "$1"
shift
exec "$@"
`

// TestNoCheckDelaysAnother: a PuppetDB that accepts and never answers, and a
// file system that hangs, are shown as what they are; the probe keeps its pace.
func TestNoCheckDelaysAnother(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	_, conf := standIn(t)
	r := newRig(t, "")
	hung := filepath.Join(r.dir, "hung")
	if err := os.Mkdir(hung, 0o755); err != nil {
		t.Fatal(err)
	}
	r.configure(conf + fmt.Sprintf("probe: {interval: 500ms, timeout: 400ms}\ndisk: {paths: [%s, %s], interval: 1s}\npuppetdb: {address: %q, interval: 1s}\n",
		hung, r.dir, silent(t)))
	r.start("unshare", "--mount", "--", "sh", "-ec", hungScript, "sh", hung)
	r.await(http.StatusOK, answer.Serving, 20*time.Second)
	r.awaitFinding(check.CheckDisk, check.NotKnown, 30*time.Second)
	r.awaitFinding(check.CheckPuppetDB, check.PuppetDBDown, 30*time.Second)
	for _, name := range []string{check.CheckDisk, check.CheckPuppetDB} {
		measured(t, name+", in words", finding(r.status(), name).Detail)
	}

	const window = 5 * time.Second
	began, before := time.Now(), r.status().Probe.Count
	time.Sleep(window)
	probes := float64(r.status().Probe.Count - before)
	want := float64(time.Since(began)) / float64(500*time.Millisecond)
	measured(t, "probes while two checks hang", fmt.Sprintf("%.0f, want %.0f", probes, want))
	if probes < want-2 || probes > want+2 {
		t.Errorf("%.0f probes, want %.0f", probes, want)
	}
	r.awaitServing("healthy: ok", time.Second)
}

// silent returns the address of a listener that accepts and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel accepts; nobody ever reads
}
