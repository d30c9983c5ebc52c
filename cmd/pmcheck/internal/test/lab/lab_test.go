//go:build linux

package lab_test

import (
	"errors"
	"fmt"
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
