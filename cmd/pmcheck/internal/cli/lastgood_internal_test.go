package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
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

// TestAFileSystemThatHangsKeepsNoCommand: nothing writes to the FIFO.
func TestAFileSystemThatHangsKeepsNoCommand(t *testing.T) {
	copied := lastGood{systemd.RuntimeFile{Dir: t.TempDir(), Name: "last-good.yaml"}}
	if err := syscall.Mkfifo(copied.Path(), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	copied.keep(&config.Loaded{Content: []byte("max_out: 3\n")})
	if took := time.Since(began); took > 3*keepTime {
		t.Errorf("it took %s", took)
	}
}
