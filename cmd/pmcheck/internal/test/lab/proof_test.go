//go:build linux

package lab_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestPublishReplacesTheTextBetweenItsMarkersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "proof.md")
	const before = "# Proof\n<!-- begin a -->\nold\n<!-- end a -->\ntext\n<!-- begin b -->\nb\n<!-- end b -->\n"
	lab.Write(t, path, before)
	lab.Publish(t, "a", "| without LAB_PROOF |\n")
	t.Setenv("LAB_PROOF", path)
	lab.Publish(t, "a", "| new |\n| table |\n")
	want := strings.Replace(before, "old\n", "| new |\n| table |\n", 1)
	if got := lab.Read(t, path); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if got := fatal(t, func(tb testing.TB) { lab.Publish(tb, "c", "") }); got == "" {
		t.Error("publishing a missing section does not fail the test")
	}
}

func TestProofHasASectionForEachSuite(t *testing.T) {
	for _, section := range []string{"states", "pool", "faults", "soak", "bench"} {
		if lab.Proof(t, section) == "" {
			t.Errorf("section %s is empty", section)
		}
	}
}
