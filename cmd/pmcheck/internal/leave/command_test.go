package leave_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// onOutput is called when a command writes its first line.
type onOutput func()

func (f onOutput) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestSignalsArePassedOnToTheCommand(t *testing.T) {
	_, stop := leave.Signals() // a shell cannot trap what this process ignores, as under nohup
	t.Cleanup(stop)
	const trap = `trap 'kill $!; exit 9' HUP TERM USR1; sleep 60 >/dev/null 2>&1 & echo ready; wait; exit 1`
	for _, tt := range []struct {
		signal syscall.Signal
		script string
		status int
	}{
		{syscall.SIGHUP, trap, 9},
		{syscall.SIGTERM, trap, 9},
		{syscall.SIGUSR1, trap, 9},
		{syscall.SIGKILL, `echo ready; exec sleep 60`, 128 + 9},
		{syscall.SIGINT, `trap 'exit 9' INT; echo ready; sleep 0.1; exit 0`, 0}, // the terminal sends it
	} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			caught := make(chan os.Signal, 1)
			c := leave.Command{
				Args:   []string{"sh", "-c", tt.script},
				Stdout: onOutput(func() { caught <- tt.signal }),
			}
			if status, err := c.Run(caught, time.Hour, func() {}); status != tt.status || err != nil {
				t.Errorf("exit status %d, %v; want %d", status, err, tt.status)
			}
		})
	}
}

func TestAHoldIsRenewedWhileItsCommandRuns(t *testing.T) {
	enough, renewals := filepath.Join(t.TempDir(), "enough"), 0
	c := leave.Command{Args: []string{"sh", "-c", `while [ ! -e "$0" ]; do sleep 0.01; done`, enough}}
	status, err := c.Run(nil, time.Millisecond, func() {
		if renewals++; renewals == 3 {
			_ = os.WriteFile(enough, nil, 0o644)
		}
	})
	if status != 0 || err != nil || renewals < 3 {
		t.Errorf("%d, %v after %d renewals", status, err, renewals)
	}
}

func TestFindReturnsTheExitStatusOfAShell(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]int{"sh": 0, plain: leave.NotExecutable, "no-such": leave.NotFound} {
		if status, err := (leave.Command{Args: []string{program}}).Find(); status != want || (err == nil) != (want == 0) {
			t.Errorf("%s: %d, %v; want %d", program, status, err, want)
		}
	}
}

// TestATemporaryHold is renewed, kept and lifted as long as it is the one that was set. One that was lifted or
// replaced is neither set again, changed nor lifted.
func TestATemporaryHold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*drain.Store) error
		left   string // its mode
	}{
		{"as it was set", func(*drain.Store) error { return nil }, ""},
		{"lifted", func(s *drain.Store) error { _, err := s.LiftAll(); return err }, ""},
		{"replaced", func(s *drain.Store) error {
			_, err := s.Put(drain.Hold{Holder: "with-hold", Mode: drain.Maint})
			return err
		}, "maint"},
	} {
		store, said := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}, &strings.Builder{}
		set, err := store.Put(drain.Hold{Holder: "with-hold", Mode: drain.Drain, Until: time.Now().Add(time.Hour)})
		if err := errors.Join(err, tt.change(store)); err != nil {
			t.Fatal(err)
		}
		h, intact := &leave.Temporary{Holds: store, Hold: set, Length: time.Minute, Out: said}, tt.name == "as it was set"
		h.Renew()
		h.Renew()
		if left := time.Until(h.Hold.Until); intact && (left < 50*time.Second || left > time.Minute) {
			t.Errorf("%s: it ends in %s", tt.name, left)
		}
		if err := h.Keep(); (err == nil) != intact || intact && !h.Hold.Until.IsZero() {
			t.Errorf("%s: a hold that is kept ends at %s: %v", tt.name, h.Hold.Until, err)
		}
		lifted, err := h.Lift()
		if err != nil || len(lifted) == 1 != intact || h.Begin() == nil {
			t.Errorf("%s: lifted %v, %v", tt.name, lifted, err)
		}
		mode := ""
		for _, h := range store.Read().Holds() {
			mode += string(h.Mode)
		}
		if mode != tt.left || strings.Count(said.String(), "lifted or replaced") == 1 == intact {
			t.Errorf("%s: left %q, says %q", tt.name, mode, said)
		}
	}
}
