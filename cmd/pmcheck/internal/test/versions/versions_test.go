//go:build linux

package versions_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// slow bounds what takes seconds on an idle machine.
const slow = time.Minute

func TestMain(m *testing.M) { lab.Main(m) }

// version returns the first number with dots in what a command line of the release prints.
func version(root *lab.Chroot, line string) string {
	return regexp.MustCompile(`\d+(\.\d+)*`).FindString(root.MustRun("sh", "-c", line))
}

// finish logs the table of a test.
func finish(t *testing.T, results *table) {
	t.Helper()
	t.Logf("measured:\n%s", results)
}
