//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// readmeBackend returns the lines for HAProxy in README.md.
func readmeBackend(t *testing.T) string {
	t.Helper()
	_, rest, found := strings.Cut(lab.ReadFile(t, "README.md"), "```haproxy\n")
	lines, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatal("README.md has no block for HAProxy")
	}
	return lines
}

// TestReadmeHasTheBackendOfAnExample: README.md has the lines of pool.cfg, which TestPoolExample runs,
// without their comments.
func TestReadmeHasTheBackendOfAnExample(t *testing.T) {
	words := func(text string) map[string]bool {
		set := map[string]bool{}
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
				continue
			}
			if fields[0] == "default-server" { // in one line or several
				for _, word := range fields[1:] {
					set[fields[0]+" "+word] = true
				}
				continue
			}
			set[strings.Join(fields, " ")] = true
		}
		return set
	}
	example := words(lab.ReadFile(t, "examples/haproxy/pool.cfg"))
	for line := range words(readmeBackend(t)) {
		if !example[line] {
			t.Errorf("pool.cfg does not have %q of README.md", line)
		}
	}
}
