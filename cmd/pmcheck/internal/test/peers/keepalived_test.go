package peers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestAMasterHasTheAddressOnlyWhilePmcheckAnswers200(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	program := lab.Need(t, "keepalived", "keepalived")
	lab.Need(t, "curl", "curl")
	n := network(t)
	lab.Output(t, n.Command("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far"))
	lab.Output(t, n.Command("ip", "link", "set", "eth0", "up"))
	lab.Output(t, n.Command("ip", "link", "set", "far", "up"))
	lab.Output(t, n.Command("ip", "address", "add", first+"/24", "dev", "eth0"))
	d := lab.StartDemo(t, n, "127.0.0.1")
	dir := t.TempDir()
	lab.StartProgram(t, n.Command(program, "--vrrp", "--dont-fork", "--log-console",
		"--use-file="+example(t, "keepalived/vrrp.conf"),
		"--pid="+filepath.Join(dir, "pid"), "--vrrp_pid="+filepath.Join(dir, "vrrp.pid")))
	has := func(want bool) {
		t.Helper()
		waitFor(t, func() error {
			out := lab.Output(t, n.Command("ip", "-oneline", "address", "show", "dev", "eth0"))
			if got := strings.Contains(out, balanced+"/"); got != want {
				return fmt.Errorf("%s on eth0: %v, want %v", balanced, got, want)
			}
			return nil
		})
	}
	has(true)
	d.Type("drain", "drain")
	has(false)
	d.Type("ready", lab.ServingBody)
	has(true)
	d.Type("stopped", "unhealthy: refused")
	has(false)
}
