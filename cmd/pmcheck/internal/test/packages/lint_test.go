package packages_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestLintianReportsNothing: overrides in the package state why a tag does not apply.
func TestLintianReportsNothing(t *testing.T) {
	lintian := lab.Need(t, "lintian", "lintian")
	out := lab.Output(t, exec.Command(lintian, "--no-user-dirs", "--allow-root", "--pedantic", "--fail-on",
		"error,warning,pedantic", file(t, newer, deb)))
	if out != "" {
		t.Errorf("lintian: %s", out)
	}
}

// lintRPM runs rpmlint on a host, since rpmlint unpacks absolute paths of a package to these
// paths.
func lintRPM(t *testing.T, s *hostSite) {
	t.Helper()
	lab.Need(t, "rpmlint", "rpmlint")
	s.Host.Copy(lab.File(t, "packaging/rpm/rpmlint.toml"), "/root/rpmlint.toml", 0o644)
	for _, pattern := range []string{rpm, selinux} {
		built := file(t, newer, pattern)
		s.Host.Copy(built, "/root/lint/"+filepath.Base(built), 0o644)
	}
	out, err := s.Host.Run("sh", "-c", "rpmlint -c /root/rpmlint.toml /root/lint/*.rpm")
	if err != nil || !strings.Contains(out, " 0 errors, 0 warnings") {
		t.Errorf("rpmlint: %v\n%s", err, out)
	}
}

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
	out := lab.Output(t, exec.Command(mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...))
	if out != "" {
		t.Errorf("mandoc: %s", out)
	}
}
