package drain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// The test binary is also the child process that tests start as another user, or kill.
// These variables name its command and the directories of its store.
const (
	envCommand     = "DRAIN_TEST_COMMAND"
	envPersistent  = "DRAIN_TEST_PERSISTENT"
	envUntilReboot = "DRAIN_TEST_UNTIL_REBOOT"
)

func TestMain(m *testing.M) {
	args := strings.Fields(os.Getenv(envCommand))
	if len(args) == 0 {
		os.Exit(m.Run())
	}
	s := &drain.Store{
		Persistent:  os.Getenv(envPersistent),
		UntilReboot: os.Getenv(envUntilReboot),
	}
	s.SetLockWait(time.Minute)
	fmt.Print(command(s, args))
}

// command executes args in the child process, and returns what the child prints.
func command(s *drain.Store, args []string) string {
	var err error
	switch args[0] {
	case "read":
		return describe(s.Read().Holds())
	case "put":
		_, err = s.Put(drain.Hold{Holder: args[1], Mode: drain.Maint})
	case "lift":
		_, err = s.Lift(args[1], "")
	case "toggle":
		err = toggle(s)
	}
	var we *drain.WriteError
	if errors.As(err, &we) && errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf("permission denied in %s", we.Dir)
	}
	return fmt.Sprint(err)
}

// child returns a child process, not yet started, that executes args.
func child(t *testing.T, s *drain.Store, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(),
		envCommand+"="+strings.Join(args, " "),
		envPersistent+"="+s.Persistent,
		envUntilReboot+"="+s.UntilReboot,
		"GORACE=atexit_sleep_ms=0", // the race detector sleeps for a second at exit
	)
	cmd.Stderr = os.Stderr
	return cmd
}

// runAs runs a child as the user uid and returns its output.
func runAs(t *testing.T, uid uint32, s *drain.Store, args ...string) string {
	t.Helper()
	cmd := child(t, s, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	must(t, err)
	return string(out)
}
