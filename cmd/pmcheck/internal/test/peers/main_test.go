//go:build linux

package peers_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The addresses in the examples.
const (
	first    = "192.0.2.11"
	second   = "192.0.2.12"
	third    = "192.0.2.21" // of the other site
	balanced = "192.0.2.10" // of a balancer on a master or between two
	front    = "192.0.2.1"  // HAProxy
	names    = "192.0.2.53" // the name server
)

func TestMain(m *testing.M) { lab.Main(m) }

// example returns the path of a file in examples.
func example(t *testing.T, name string) string {
	t.Helper()
	return lab.File(t, filepath.Join("examples", name))
}

// network makes a network with these addresses, so that the examples run unchanged.
func network(t *testing.T, addresses ...string) *lab.Network {
	t.Helper()
	n := lab.StartNetwork(t)
	for _, a := range addresses {
		must(t, n.Command("ip", "address", "add", a+"/32", "dev", "lo"))
	}
	return n
}

// must runs a command and returns what it printed.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// waitFor polls with the timeout of these tests.
func waitFor(t *testing.T, fn func() error) {
	t.Helper()
	lab.WaitFor(t, 30*time.Second, 100*time.Millisecond, fn)
}

// serving is the body of the answer for a master that balancers should use.
const serving = lab.ServingBody
