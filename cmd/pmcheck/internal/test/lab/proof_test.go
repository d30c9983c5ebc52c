//go:build linux

package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestPublish: a table replaces what stands between its markers, and nothing else.
func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "proof.md")
	const before = "# Proof\n<!-- begin a -->\nold\n<!-- end a -->\ntext\n<!-- begin b -->\nb\n<!-- end b -->\n"
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	lab.Publish(t, "a", "| not asked for |\n")
	t.Setenv("LAB_PROOF", path)
	lab.Publish(t, "a", "| new |\n| table |\n")
	want := strings.Replace(before, "old\n", "| new |\n| table |\n", 1)
	if got := readFile(t, path); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if got := fatal(t, func(tb testing.TB) { lab.Publish(tb, "c", "") }); got == "" {
		t.Error("a section that is not there is no failure")
	}
}

// TestProofSections: the document has a section for each suite that publishes.
func TestProofSections(t *testing.T) {
	for _, section := range []string{"states", "pool", "faults", "soak", "bench"} {
		if lab.Proof(t, section) == "" {
			t.Errorf("section %s is empty", section)
		}
	}
}
