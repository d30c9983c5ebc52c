//go:build linux

package packages_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestShellScriptsPassShellcheck checks every file of the tree that begins with the line of a
// shell, and those that end in .sh. Overrides and their reasons are in the files.
func TestShellScriptsPassShellcheck(t *testing.T) {
	lab.Need(t, "shellcheck", "shellcheck")
	found := output(t, lab.File(t, ""), `find . \( -name .git -o -name bin -o -name dist \) -prune -o -type f `+
		`-exec awk 'FNR == 1 && (/^#!.*sh$/ || FILENAME ~ /[.]sh$/) { print FILENAME }' {} +`)
	scripts := strings.Fields(found)
	if len(scripts) < 20 {
		t.Errorf("found %d scripts, want at least 20: %q", len(scripts), scripts)
	}
	output(t, lab.File(t, ""), "shellcheck "+strings.Join(scripts, " "))
}

// TestManualsPassMandoc: at lower levels mandoc reports references to pages that are not
// installed, and the length of lines in the source.
func TestManualsPassMandoc(t *testing.T) {
	mandoc := lab.Need(t, "mandoc", "mandoc")
	pages, err := filepath.Glob(lab.File(t, "packaging/man/*.[1-8]"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("found the manuals %q, %v", pages, err)
	}
	out, err := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
