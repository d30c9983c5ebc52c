package leave_test

import (
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

// temporary sets the hold of a command, which lasts a minute, and returns what is in effect.
func temporary(t *testing.T) (h *leave.Temporary, inEffect func() []drain.Hold, said *strings.Builder) {
	t.Helper()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	set, err := store.Put(drain.Hold{Holder: "with-hold", Mode: drain.Drain, Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	said = &strings.Builder{}
	h = &leave.Temporary{Holds: store, Hold: set, Length: time.Minute, Out: said}
	return h, func() []drain.Hold { return store.Read().At(time.Now()).Holds() }, said
}

func TestATemporaryHoldEndsAfterItsRenewalUnlessItIsKept(t *testing.T) {
	h, inEffect, _ := temporary(t)
	h.Renew()
	if left := time.Until(inEffect()[0].Until); left < 50*time.Second || left > time.Minute {
		t.Errorf("it ends in %s", left)
	}
	if err := h.Keep(); err != nil || !inEffect()[0].Until.IsZero() {
		t.Errorf("a hold that is kept ends at %s: %v", inEffect()[0].Until, err)
	}
	if lifted, err := h.Lift(); err != nil || len(lifted) != 1 || len(inEffect()) != 0 {
		t.Errorf("lifted %v, %v", lifted, err)
	}
}

// A hold that was lifted or replaced is neither set again, changed nor lifted.
func TestRenewalLeavesOtherHoldsAlone(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		h, inEffect, said := temporary(t)
		store := h.Holds.(*drain.Store)
		if _, err := store.LiftAll(); err != nil {
			t.Fatal(err)
		}
		want := 0
		if replaced {
			want = 1
			if _, err := store.Put(drain.Hold{Holder: "with-hold", Mode: drain.Maint}); err != nil {
				t.Fatal(err)
			}
		}
		h.Renew()
		h.Renew()
		lifted, err := h.Lift()
		if h.Keep() == nil || h.Begin() == nil || len(lifted) != 0 || err != nil {
			t.Errorf("kept, begun or lifted: %v, %v", lifted, err)
		}
		if list := inEffect(); len(list) != want || want > 0 && list[0].Mode != drain.Maint {
			t.Errorf("held: %+v", list)
		}
		if strings.Count(said.String(), "lifted or replaced") != 1 {
			t.Errorf("says %q", said.String())
		}
	}
}
