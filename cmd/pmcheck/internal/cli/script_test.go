package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/loopback"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pmcheck": func() { os.Exit(Run(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"ask":     askAsBalancer,
	})
}

// askAsBalancer is the program "ask URL [VIEW]". It asks as a balancer does, with VIEW as the header
// X-Haproxy-Server-State, and prints the status code and the body. As "ask URL VIEW OUT FILE" it asks every 250 ms
// until FILE exists, with VIEW while the answer is 200, otherwise with OUT.
func askAsBalancer() {
	args := append(os.Args[1:], "", "", "")
	req, err := http.NewRequest(http.MethodGet, args[0], nil)
	for view := args[1]; err == nil; time.Sleep(250 * time.Millisecond) {
		req.Header.Set("X-Haproxy-Server-State", view)
		resp, failed := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if failed != nil {
			err = failed
			break
		}
		if args[3] == "" {
			fmt.Println(resp.StatusCode)
			_, _ = io.Copy(os.Stdout, resp.Body)
			return
		}
		resp.Body.Close()
		if view = args[2]; resp.StatusCode == http.StatusOK {
			view = args[1]
		}
		if _, err := os.Stat(args[3]); err == nil {
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestScripts runs the command line as its user does. Each script has a stand-in master
// and a configuration of its own. Commands beside testscript's own:
//
//	status N pmcheck ...   run pmcheck, and fail if its exit status is not N
//	master STATE           switch the stand-in to a state
//	await TEXT             wait until the daemon sends TEXT to the service manager,
//	                       and set $address to the daemon's address
//	signal NAME PROGRAM    send a signal to a background program
//	filesystem mount DIR   mount a file system on a directory, with its files
//	filesystem hang        stop the program that is the file system; mend: let it go on
func TestScripts(t *testing.T) {
	// A parent such as nohup may ignore this signal. Programs started here would
	// inherit that unless this process catches it.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": wantStatus,
			"master": setMaster,
			"await":  await,
			"signal": send,

			"filesystem": stallFileSystem,
		},
	})
}

type masterKey struct{}
type notifyKey struct{}

func setup(env *testscript.Env) error {
	address, release, err := loopback.Reserve() // the stand-in restarts on the same port
	if err != nil {
		return err
	}
	env.Defer(func() { release() })
	m, err := checktest.NewMaster(filepath.Join(env.WorkDir, "puppet"), "puppet1.example.test", address)
	if err != nil {
		return err
	}
	env.Defer(func() { m.Close() })
	env.Values[masterKey{}] = m

	socket := filepath.Join(env.WorkDir, "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	env.Defer(func() { notify.Close() })
	messages := make(chan string, 1000) // the daemon would wait for a socket that is not read
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := notify.Read(b)
			if err != nil {
				return
			}
			messages <- string(b[:n])
		}
	}()
	env.Values[notifyKey{}] = messages
	env.Values[fileSystemKey{}] = new(fileSystem)

	env.Setenv("NOTIFY_SOCKET", socket)
	env.Setenv("PMCHECK_CONFIG", filepath.Join(env.WorkDir, "pmcheck.yaml"))
	env.Setenv("PMCHECK_HOLDS", env.WorkDir)
	env.Setenv("TZ", "UTC")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise the race detector sleeps for a second at exit
	holds, run := filepath.Join(env.WorkDir, "holds"), filepath.Join(env.WorkDir, "run")
	return errors.Join(os.Mkdir(holds, 0o755), os.Mkdir(run, 0o755),
		os.WriteFile(filepath.Join(env.WorkDir, "pmcheck.yaml"), fmt.Appendf(nil, `listen: 127.0.0.1:0
puppet:
  conf: %[1]s/puppet/puppet.conf
probe:
  address: %[2]s
  interval: 2s
  timeout: 1900ms # on a busy machine the first answer takes long
disk:
  paths: [%[1]s]
  warn_percent: 0 # how full the disk of the tests is must not matter
`, env.WorkDir, m.Address()), 0o644))
}

func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	got, err := 0, ts.Exec(args[1], args[2:]...)
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] || neg {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func setMaster(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(masterKey{}).(*checktest.Master).Set(checktest.State(args[0])))
}

var addressInStatus = regexp.MustCompile(`answering on (\S+)`)

func await(ts *testscript.TestScript, _ bool, args []string) {
	messages, timeout := ts.Value(notifyKey{}).(chan string), time.After(20*time.Second)
	for {
		select {
		case <-timeout:
			ts.Fatalf("no %s", args[0])
		case message := <-messages:
			if m := addressInStatus.FindStringSubmatch(message); m != nil {
				ts.Setenv("address", m[1])
			}
			if strings.Contains(message, args[0]) {
				return
			}
		}
	}
}

type fileSystemKey struct{}

func stallFileSystem(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "mount" {
		mountFileSystem(ts, ts.MkAbs(args[1]))
		return
	}
	number := map[string]syscall.Signal{"hang": syscall.SIGSTOP, "mend": syscall.SIGCONT}[args[0]]
	ts.Check(ts.Value(fileSystemKey{}).(*fileSystem).program.Signal(number))
}

// A fileSystem is a program that is one.
type fileSystem struct{ program *os.Process }

// mountFileSystem mounts a directory on itself through a program, which ends with the script.
func mountFileSystem(ts *testscript.TestScript, dir string) {
	bindfs := exec.Command("bindfs", "-f", "-o", "nonempty", dir, dir)
	ts.Check(bindfs.Start())
	ts.Value(fileSystemKey{}).(*fileSystem).program = bindfs.Process
	ts.Defer(func() {
		_ = bindfs.Process.Kill()
		_ = bindfs.Wait()
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})

	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		mounts, err := os.ReadFile("/proc/self/mounts")
		ts.Check(err)
		if strings.Contains(string(mounts), " "+dir+" fuse") {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("bindfs does not mount %s", dir)
		}
	}
}

func send(ts *testscript.TestScript, _ bool, args []string) {
	number := unix.SignalNum("SIG" + args[0])
	for _, c := range ts.BackgroundCmds() {
		if filepath.Base(c.Args[0]) == args[1] {
			ts.Check(c.Process.Signal(number))
			return
		}
	}
	ts.Fatalf("no program %s in the background", args[1])
}
