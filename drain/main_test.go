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

	"github.com/pmcheck/pmcheck/drain"
)

// The test binary is also the child process that tests start as another user.
// These variables have its command and the directories of its store.
const (
	envCommand     = "DRAIN_TEST_COMMAND"
	envPersistent  = "DRAIN_TEST_PERSISTENT"
	envUntilReboot = "DRAIN_TEST_UNTIL_REBOOT"
)

func TestMain(m *testing.M) {
	if os.Getenv(envCommand) == "" {
		os.Exit(m.Run())
	}
	s := &drain.Store{Persistent: os.Getenv(envPersistent), UntilReboot: os.Getenv(envUntilReboot)}
	fmt.Print(command(s, os.Getenv(envCommand)))
}

// command executes a command in the child process, and returns what the child prints.
func command(s *drain.Store, command string) string {
	var err error
	verb, holder, _ := strings.Cut(command, " ")
	switch verb {
	case "read":
		return describe(s.Read().Holds())
	case "put":
		_, err = s.Put(drain.Hold{Holder: holder, Mode: drain.Maint})
	case "lift":
		_, err = s.Lift(holder, "")
	}
	if we, is := errors.AsType[*drain.WriteError](err); is && errors.Is(err, fs.ErrPermission) {
		return "permission denied in " + we.Dir
	}
	return fmt.Sprint(err)
}

// runAs runs a command in a child process of the user uid, and returns what it prints.
func runAs(t *testing.T, uid uint32, s *drain.Store, command string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(),
		envCommand+"="+command,
		envPersistent+"="+s.Persistent,
		envUntilReboot+"="+s.UntilReboot,
		"GORACE=atexit_sleep_ms=0", // the race detector sleeps for a second at exit
	)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	must(t, err)
	return string(out)
}
