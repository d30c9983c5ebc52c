//go:build linux

package packages_test

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestShellScriptsPassShellcheck checks every file of the tree that begins with the line of a
// shell, and those that end in .sh. Overrides and their reasons are in the files.
func TestShellScriptsPassShellcheck(t *testing.T) {
	shellcheck := lab.Need(t, "shellcheck", "shellcheck")
	scripts := shellScripts(t, lab.File(t, ""))
	if len(scripts) < 20 {
		t.Errorf("found %d scripts, want at least 20: %q", len(scripts), scripts)
	}
	if out, err := exec.Command(shellcheck, scripts...).CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}

// shellScripts returns the shell scripts below a directory.
func shellScripts(t *testing.T, root string) (scripts []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist"): // not sources
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Scan()
		interpreter, isScript := strings.CutPrefix(s.Text(), "#!")
		if isScript && strings.HasSuffix(interpreter, "sh") || strings.HasSuffix(path, ".sh") {
			scripts = append(scripts, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return scripts
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
