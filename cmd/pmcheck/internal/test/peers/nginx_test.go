//go:build linux

package peers_test

import (
	"path/filepath"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestNginxAcceptsTheExamples: nginx never asks pmcheck, but may follow a name server that does.
func TestNginxAcceptsTheExamples(t *testing.T) {
	lab.Real(t)
	program := lab.Need(t, "nginx", "nginx-light")
	n := network(t, balanced)
	for _, name := range []string{"nginx/stream.conf", "nginx/dns.conf"} {
		lab.Output(t, n.Command(program, "-t", "-c", example(t, name), "-e", "stderr", "-g",
			"pid "+filepath.Join(t.TempDir(), "pid")+";"))
	}
}
