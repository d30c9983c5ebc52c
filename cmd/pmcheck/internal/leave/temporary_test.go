package leave_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// withHoldEnv makes the test program a process that holds and runs a command.
const withHoldEnv = "PMCHECK_TEST_WITH_HOLD"

// TestMain runs the tests, or a process that holds, runs the command in its arguments, and
// lifts the hold.
func TestMain(m *testing.M) {
	dir := os.Getenv(withHoldEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	h := newHold(dir, time.Now().Add(length))
	caught, stop := leave.Signals()
	defer stop()
	c := leave.Command{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	status, err := c.Run(caught, h.Every(), h.Renew)
	if err != nil {
		panic(err)
	}
	if _, err := h.Lift(); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// length is how long the hold of a test lasts.
const length = 2 * time.Second

func newStore(dir string) *drain.Store {
	store := &drain.Store{Persistent: dir, UntilReboot: filepath.Join(dir, "run")}
	if err := store.MakeUntilReboot(); err != nil {
		panic(err)
	}
	return store
}

func newHold(dir string, until time.Time) *leave.Temporary {
	store := newStore(dir)
	set, err := store.Put(drain.Hold{Holder: "with-hold", Mode: drain.Drain, Until: until})
	if err != nil {
		panic(err)
	}
	return &leave.Temporary{Holds: store, Hold: set, Length: length, Out: os.Stderr}
}

// A holder is a process that runs a command with a hold.
type holder struct {
	*exec.Cmd
	t    *testing.T
	dir  string
	said *bufio.Reader // stdout of the command
}

// startHolder starts a process that runs a shell script with a hold, and waits until the
// script has written a line.
func startHolder(t *testing.T, script string) *holder {
	t.Helper()
	h := &holder{Cmd: exec.Command(os.Args[0], "sh", "-c", script), t: t, dir: t.TempDir()}
	h.Env = append(os.Environ(), withHoldEnv+"="+h.dir)
	h.Stderr = os.Stderr
	h.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not in the foreground of a terminal
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-h.Process.Pid, syscall.SIGKILL) })
	h.said = bufio.NewReader(out)
	h.line()
	return h
}

// line returns the next line of the command.
func (h *holder) line() string {
	h.t.Helper()
	line, err := h.said.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// hold returns the hold that is in effect, if there is one.
func (h *holder) hold() (hold drain.Hold, found bool) {
	return inEffect(newStore(h.dir))
}

// inEffect returns the hold of a store that is in effect, if there is one.
func inEffect(store leave.Holds) (hold drain.Hold, found bool) {
	for _, h := range store.Read().At(time.Now()).Holds() {
		return h, true
	}
	return drain.Hold{}, false
}

// exit waits for the end of the process, and returns its exit status.
func (h *holder) exit() int {
	h.t.Helper()
	if _, err := io.Copy(io.Discard, h.said); err != nil {
		h.t.Fatal(err)
	}
	err := h.Wait()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		h.t.Fatal(err)
	}
	return h.ProcessState.ExitCode()
}

// waitFor waits until ok returns true.
func waitFor(t *testing.T, what string, within time.Duration, ok func() bool) {
	t.Helper()
	for over := time.Now().Add(within); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(over) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

func TestEachSignalIsPassedOnAndTheHoldIsLifted(t *testing.T) {
	for name, s := range map[string]syscall.Signal{
		"HUP":  syscall.SIGHUP,
		"TERM": syscall.SIGTERM,
		"USR1": syscall.SIGUSR1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHolder(t, `trap 'kill $!; echo got; exit 9' `+name+`; sleep 60 & echo ready; wait; exit 1`)
			if err := h.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if line := h.line(); line != "got" {
				t.Errorf("the command says %q", line)
			}
			if status := h.exit(); status != 9 {
				t.Errorf("exit status %d, want 9, that of the command", status)
			}
			if _, held := h.hold(); held {
				t.Error("the hold was not lifted")
			}
		})
	}
}

func TestExitStatusTellsTheSignal(t *testing.T) {
	h := startHolder(t, `echo ready; kill -KILL $$`)
	if status := h.exit(); status != 128+9 {
		t.Errorf("exit status %d, want 137", status)
	}
	if _, held := h.hold(); held {
		t.Error("the hold was not lifted")
	}
}

func TestHoldIsRenewedWhileTheCommandRunsAndEndsAfterAKill(t *testing.T) {
	h := startHolder(t, `echo ready; exec sleep 60`)
	first, held := h.hold()
	if !held {
		t.Fatal("no hold while the command runs")
	}
	waitFor(t, "the end of the hold moves by twice its length", 20*time.Second, func() bool {
		now, held := h.hold()
		if !held {
			t.Fatal("the hold has ended while the command runs")
		}
		return now.Until.Sub(first.Until) > 4*time.Second
	})
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.Wait() // the command still runs, and keeps its stdout
	if _, held := h.hold(); !held {
		t.Error("the hold has ended with the process that was killed; want its own end")
	}
	waitFor(t, "the hold ends by itself", 5*time.Second, func() bool { _, held := h.hold(); return !held })
}

// A hold that was lifted or replaced is neither set again, changed nor lifted.
func TestRenewalLeavesOtherHoldsAlone(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		var said strings.Builder
		h := newHold(t.TempDir(), time.Now().Add(time.Minute))
		h.Out = &said
		if lifted, err := h.Lift(); err != nil || len(lifted) != 1 {
			t.Fatalf("lifted %v, %v", lifted, err)
		}
		if replaced {
			if _, err := h.Holds.(*drain.Store).Put(drain.Hold{Holder: "with-hold", Mode: drain.Maint}); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := inEffect(h.Holds)
		h.Renew()
		h.Renew()
		lifted, err := h.Lift()
		if h.Keep() == nil || h.Begin() == nil || len(lifted) != 0 || err != nil {
			t.Errorf("kept, begun or lifted: %v, %v", lifted, err)
		}
		if after, _ := inEffect(h.Holds); after != before {
			t.Errorf("the hold is %+v, was %+v", after, before)
		}
		if strings.Count(said.String(), "lifted or replaced") != 1 {
			t.Errorf("says %q", said.String())
		}
	}
}

func TestAHoldThatIsKeptHasNoEnd(t *testing.T) {
	h := newHold(t.TempDir(), time.Now().Add(time.Minute))
	if err := h.Keep(); err != nil {
		t.Fatal(err)
	}
	if kept, held := inEffect(h.Holds); !held || !kept.Until.IsZero() {
		t.Errorf("a hold that is kept ends at %v", kept.Until)
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
