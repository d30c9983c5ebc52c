//go:build linux

package versions_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestExamplesInEachRelease: the HAProxy of each release accepts README.md and every example, without a warning.
func TestExamplesInEachRelease(t *testing.T) {
	lab.Real(t)
	_, readme, _ := strings.Cut(lab.ReadFile(t, "README.md"), "```haproxy\n")
	readme, _, _ = strings.Cut(readme, "```")
	configs := map[string]string{"README.md": readme}
	files, err := filepath.Glob(lab.File(t, "examples/haproxy/*.cfg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		configs[filepath.Base(file)] = lab.Read(t, file)
	}
	for _, release := range tried(lab.HAProxyReleases(), "forky") {
		t.Run(release.Suite, func(t *testing.T) {
			root, dir := release.StartChroot(t), t.TempDir()
			lab.Write(t, filepath.Join(dir, "state"), "1\n")
			here := strings.NewReplacer("/var/lib/haproxy/server-state", filepath.Join(dir, "state"),
				"/run/haproxy/admin.sock", filepath.Join(dir, "admin.sock"), "192.0.2.53:", "127.0.0.1:")
			for name, text := range configs {
				config := filepath.Join(dir, name)
				lab.Write(t, config, here.Replace(text))
				if out, err := root.Run("haproxy", "-c", "-f", config); err != nil || strings.Contains(out, "[WARNING]") {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
		})
	}
}
