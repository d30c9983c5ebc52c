package leave_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
			c := exec.Command("sh", "-c", tt.script)
			c.Stdout = onOutput(func() { caught <- tt.signal })
			if status, err := leave.Run(c, caught, time.Hour, func() {}); status != tt.status || err != nil {
				t.Errorf("exit status %d, %v; want %d", status, err, tt.status)
			}
		})
	}
}

func TestAHoldIsRenewedWhileItsCommandRuns(t *testing.T) {
	enough, renewals := filepath.Join(t.TempDir(), "enough"), 0
	c := exec.Command("sh", "-c", `while [ ! -e "$0" ]; do sleep 0.01; done`, enough)
	status, err := leave.Run(c, nil, time.Millisecond, func() {
		if renewals++; renewals == 3 {
			_ = os.WriteFile(enough, nil, 0o644)
		}
	})
	if status != 0 || err != nil || renewals < 3 {
		t.Errorf("%d, %v after %d renewals", status, err, renewals)
	}
}

// TestAHoldThatWasSetIsAnothersOnceItWasReplaced: one that was lifted or replaced is neither set again, changed nor
// lifted.
func TestAHoldThatWasSetIsAnothersOnceItWasReplaced(t *testing.T) {
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
		store, intact := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}, tt.name == "as it was set"
		set, err := store.Put(drain.Hold{Holder: "with-hold", Mode: drain.Drain, Until: time.Now().Add(time.Hour)})
		if err := errors.Join(err, tt.change(store)); err != nil {
			t.Fatal(err)
		}
		w := leave.World{Holds: store}
		set, err = w.Amend(set, func(h *drain.Hold) { h.Until = time.Time{} })
		if (err == nil) != intact || set.Until.IsZero() != intact {
			t.Errorf("%s: amended to %+v, %v", tt.name, set, err)
		}
		lifted, err := w.Lift(set)
		if err != nil || len(lifted) == 1 != intact {
			t.Errorf("%s: lifted %v, %v", tt.name, lifted, err)
		}
		mode := ""
		for _, h := range store.Read().Holds() {
			mode += string(h.Mode)
		}
		if mode != tt.left {
			t.Errorf("%s: left %q", tt.name, mode)
		}
	}
}
