//go:build linux

package lab_test

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// A failingTB records how a helper fails its test.
type failingTB struct {
	testing.TB
	fatal string
	error string
}

func (f *failingTB) Errorf(format string, args ...any) { f.error = fmt.Sprintf(format, args...) }

func (f *failingTB) Fatal(args ...any) {
	f.fatal = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failingTB) Fatalf(format string, args ...any) {
	f.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fatal returns the message with which fn fails its test, or "".
func fatal(t *testing.T, fn func(testing.TB)) string {
	t.Helper()
	tb := &failingTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(tb)
	}()
	<-done
	return tb.fatal
}

func TestNeedNamesTheMissingProgramAndItsPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short, Need skips")
	}
	got := fatal(t, func(tb testing.TB) { lab.Need(tb, "no-such-program", "its-package") })
	for _, want := range []string{"no-such-program", "apt-get install", "its-package"} {
		if !strings.Contains(got, want) {
			t.Errorf("a missing program fails the test with %q, want %q in it", got, want)
		}
	}
	if got := fatal(t, func(tb testing.TB) { lab.Need(tb, "go", "golang") }); got != "" {
		t.Errorf("fails for a program that is installed: %s", got)
	}
}

func TestWaitForFailsWithTheLastError(t *testing.T) {
	calls := 0
	got := fatal(t, func(tb testing.TB) {
		lab.WaitFor(tb, time.Minute, 0, func() error {
			if calls++; calls < 3 {
				return errors.New("not yet")
			}
			return nil
		})
	})
	if got != "" || calls != 3 {
		t.Errorf("%d calls, %q; want success at the third", calls, got)
	}
	got = fatal(t, func(tb testing.TB) {
		lab.WaitFor(tb, 0, 0, func() error { return errors.New("the last error") })
	})
	if !strings.Contains(got, "the last error") {
		t.Errorf("fails with %q, want the last error", got)
	}
}

func TestBuildIsDoneOnce(t *testing.T) {
	lab.Real(t)
	path := lab.Build(t)
	if again := lab.Build(t); again != path {
		t.Errorf("built twice: %s and %s", path, again)
	}
	if out, err := exec.Command(path, "--help").CombinedOutput(); err != nil {
		t.Errorf("%s --help: %v\n%s", path, err, out)
	}
}
