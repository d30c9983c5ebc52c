package peers_test

import (
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

func example(t *testing.T, name string) string {
	t.Helper()
	return lab.File(t, filepath.Join("examples", name))
}

// network makes a network with these addresses, so that the examples run unchanged.
func network(t *testing.T, addresses ...string) *lab.Network {
	t.Helper()
	n := lab.StartNetwork(t)
	for _, a := range addresses {
		lab.Output(t, n.Command("ip", "address", "add", a+"/32", "dev", "lo"))
	}
	return n
}

func waitFor(t *testing.T, fn func() error) {
	t.Helper()
	lab.WaitFor(t, 30*time.Second, 100*time.Millisecond, fn)
}
