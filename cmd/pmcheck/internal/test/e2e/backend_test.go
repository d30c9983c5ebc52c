//go:build linux

package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
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

func TestHAProxyAcceptsTheReadme(t *testing.T) {
	lab.Real(t)
	lab.CheckHAProxyConfig(t, "defaults\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n"+
		readmeBackend(t))
}

// TestHAProxyAcceptsEveryExample: HAProxy accepts every file in examples/haproxy, with a file of this
// test in place of the state file that an example names, and this host in place of a name server.
func TestHAProxyAcceptsEveryExample(t *testing.T) {
	lab.Real(t)
	state := filepath.Join(t.TempDir(), "state")
	lab.Write(t, state, "1\n") // the version line of a file without servers
	loaded := 0
	err := filepath.WalkDir(lab.File(t, "examples/haproxy"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".cfg" {
			return err
		}
		text, err := os.ReadFile(path)
		loaded++
		t.Run(filepath.Base(path), func(t *testing.T) {
			here := strings.NewReplacer("/var/lib/haproxy/server-state", state, "192.0.2.53:", "127.0.0.1:")
			lab.CheckHAProxyConfig(t, here.Replace(string(text)))
		})
		return err
	})
	if err != nil || loaded == 0 {
		t.Errorf("%d examples, %v", loaded, err)
	}
}

// TestReadmeHasTheBackendOfAnExample: README.md has the lines of pool.cfg, which TestExamples runs,
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
