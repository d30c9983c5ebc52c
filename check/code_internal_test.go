package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCodeThatCannotBeReadIsNotKnown: neither the time nor a directory that is too large makes an identity.
func TestCodeThatCannotBeReadIsNotKnown(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		spoil func(dir string) error
		says  string
	}{
		{"in time", t.Context(), func(string) error { return nil }, ""},
		{"too late", late, func(string) error { return nil }, "not read within 10s"},
		{"too many files", t.Context(), func(dir string) error {
			for range maxEntries {
				if f, err := os.CreateTemp(dir, ""); err != nil || f.Close() != nil {
					return err
				}
			}
			return nil
		}, "10000 entries or more in "},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "site.pp"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tt.spoil(dir); err != nil {
			t.Fatal(err)
		}
		got := codeTrees{}.environment(tt.ctx, dir)
		if (got.ID == "") != (tt.says != "") || !strings.Contains(got.Unknown, tt.says) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.says)
		}
	}
}

func TestAFileThatShrinksWhileItIsReadHasNoIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.pp")
	if err := os.WriteFile(path, []byte("xy"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(contentOf(io.Discard, path, seen)); !strings.Contains(got, "changed while it was read") {
		t.Errorf("%s, want that it has changed", got)
	}
}

// TestCodeIsReadOnceUntilItChanges: the check runs every two minutes, and its load is the master's.
func TestCodeIsReadOnceUntilItChanges(t *testing.T) {
	dir, trees := t.TempDir(), codeTrees{}
	file := filepath.Join(dir, "site.pp")
	read := func() string {
		t.Helper()
		id, err := trees.id(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := read()
	known := trees[dir]
	known.id = "remembered"
	trees[dir] = known
	if got := read(); got != "remembered" {
		t.Errorf("%q: the content was read again", got)
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != first {
		t.Errorf("%q, want %q", got, first)
	}
}
