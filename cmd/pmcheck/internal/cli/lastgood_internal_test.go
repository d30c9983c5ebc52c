package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// TestACommandGoesOnWithTheLastGoodConfiguration, once one has been kept that can be used.
func TestACommandGoesOnWithTheLastGoodConfiguration(t *testing.T) {
	dir := t.TempDir()
	copied := lastGood{systemd.RuntimeFile{Dir: dir, Name: "last-good.yaml"}}
	o := config.Options{File: filepath.Join(dir, "pmcheck.yaml")}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(o.File, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write("max_out: nonsense\n")
	if _, from, err := loadOr(o, copied); err == nil || from != "" {
		t.Errorf("nothing was kept: it goes on with %q, %v", from, err)
	}

	write("max_out: 3\n")
	if c, from, err := loadOr(o, copied); err != nil || from != "" || c.MaxOut.Number != 3 {
		t.Errorf("a good file: %v from %q, %v", c.MaxOut, from, err)
	}
	write("max_out: nonsense\n")
	if c, from, err := loadOr(o, copied); err == nil || from != copied.Path() || c.MaxOut.Number != 3 {
		t.Errorf("a broken file: %v from %q, %v", c.MaxOut, from, err)
	}
}

// TestAFileSystemThatHangsKeepsNoCommand: the command goes on after keepTime.
func TestAFileSystemThatHangsKeepsNoCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		defer close(answers)
		began := time.Now()
		within(keepTime, func() { <-answers })
		if took := time.Since(began); took != keepTime {
			t.Errorf("it took %s", took)
		}
	})
}

// TestACopyOfAnySizeIsReplaced: what is kept is compared with what is to be kept, and a copy that is too large to be a
// configuration is not read for that.
func TestACopyOfAnySizeIsReplaced(t *testing.T) {
	copied := lastGood{systemd.RuntimeFile{Dir: t.TempDir(), Name: "last-good.yaml"}}
	good := &config.Loaded{Content: []byte("max_out: 3\n")}
	if err := os.WriteFile(copied.Path(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(copied.Path(), 1<<40); err != nil {
		t.Fatal(err)
	}
	copied.keep(good)
	if kept, err := os.ReadFile(copied.Path()); err != nil || !bytes.Equal(kept, good.Content) {
		t.Errorf("kept %d bytes, %v", len(kept), err)
	}
}
