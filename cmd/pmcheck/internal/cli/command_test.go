package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// onOutput is called when a command writes its first line.
type onOutput func()

func (f onOutput) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestSignalsArePassedOnToTheCommand(t *testing.T) {
	_, stop := catchSignals() // a shell cannot trap what this process ignores, as under nohup
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
			if status, err := runCommand(c, caught, time.Hour, func() {}); status != tt.status || err != nil {
				t.Errorf("exit status %d, %v; want %d", status, err, tt.status)
			}
		})
	}
}

func TestAHoldIsRenewedWhileItsCommandRuns(t *testing.T) {
	enough, renewals := filepath.Join(t.TempDir(), "enough"), 0
	c := exec.Command("sh", "-c", `while [ ! -e "$0" ]; do sleep 0.01; done`, enough)
	status, err := runCommand(c, nil, time.Millisecond, func() {
		if renewals++; renewals == 3 {
			_ = os.WriteFile(enough, nil, 0o644)
		}
	})
	if status != 0 || err != nil || renewals < 3 {
		t.Errorf("%d, %v after %d renewals", status, err, renewals)
	}
}
