//go:build linux

package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// start runs a program until stop is called or the benchmark ends. Its environment has
// nothing but PATH and environ, since pmcheck reads settings from there.
func start(b *testing.B, environ []string, program string, args ...string) (pid int, stop func()) {
	b.Helper()
	var output bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		cmd.Wait()                          // bare servers are killed by the signal
		if b.Failed() {
			b.Logf("output of %v:\n%s", cmd.Args, output.String())
		}
	}
	b.Cleanup(stop)
	return cmd.Process.Pid, stop
}

// startDaemon starts pmcheck with the timer slack of its unit, which a child inherits.
func startDaemon(b *testing.B, environ []string, config string) (pid int, stop func()) {
	b.Helper()
	_, rest, _ := strings.Cut(lab.ReadFile(b, "systemd/pmcheck.service"), "\nTimerSlackNSec=")
	line, _, _ := strings.Cut(rest, "\n")
	slack, err := time.ParseDuration(line)
	if err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		b.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the default
	return start(b, append(environ, holdsOf(config)), lab.Build(b), "serve", "--config", config)
}

// holdsOf returns the environment variable for the holds beside a pmcheck.yaml.
func holdsOf(config string) string { return "PMCHECK_HOLDS=" + filepath.Dir(config) }

// startBare starts the bare server.
func startBare(b *testing.B) (address string, pid int) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	address = lab.Address(b, "127.0.0.1")
	pid, _ = start(b, []string{serveVariable + "=" + address}, self)
	return address, pid
}

func urlOf(address string) string { return "http://" + address + "/" }

// waitForAnswer asks until the answer is 200.
func waitForAnswer(b *testing.B, url string) {
	b.Helper()
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	lab.WaitFor(b, 30*time.Second, 10*time.Millisecond, func() error { return check(address) })
}

// cpuTime returns the CPU time of a process without its children. Its resolution is 1 ns,
// compared with 10 ms in /proc. The clock id of another process is computed from its
// process id: see clock_getcpuclockid(3).
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const schedulerClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		b.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(t.Nano())
}

// serveConfig writes a pmcheck.yaml for the master of a puppet.conf, and keeps the daemon
// away from the machine's own files. more holds further lines.
func serveConfig(b *testing.B, listen, master, puppetConf string, more ...string) (file string) {
	b.Helper()
	dir := b.TempDir()
	for _, name := range []string{"holds", "run"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	file = filepath.Join(dir, "pmcheck.yaml")
	text := fmt.Sprintf(`listen: %[2]s
puppet: {conf: %[4]s}
probe: {address: "%[3]s"}
`, dir, listen, master, puppetConf)
	text += strings.Join(more, "\n")
	lab.Write(b, file, text)
	return file
}
