package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// slack is what a busy machine may add to a documented bound.
const slack = 250 * time.Millisecond

// A rig is pmcheck on one host: its configuration, its holds and its daemon.
type rig struct {
	t       *testing.T
	dir     string
	address string // where it answers balancers
	store   *drain.Store
	cmd     *exec.Cmd
	done    chan struct{} // closed once the daemon has ended
}

// newRig lays out a host whose pmcheck.yaml has these lines, besides those that
// keep it away from this machine's own files.
func newRig(t *testing.T, yaml string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmcheck-e2e-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, dir: dir, address: lab.FreeAddress(t, "127.0.0.1")}
	r.store = &drain.Store{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run")}
	for _, path := range []string{r.store.Persistent, r.store.UntilReboot} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.configure(yaml)
	return r
}

// serve starts pmcheck serve on a new host and waits until it is fit.
func serve(t *testing.T, yaml string) *rig {
	t.Helper()
	r := newRig(t, yaml)
	r.start()
	r.await(http.StatusOK, answer.Serving, 20*time.Second)
	return r
}

// beside lays out a second pmcheck for the same host, which shares its holds.
func (r *rig) beside(yaml string) *rig {
	r.t.Helper()
	second := newRig(r.t, "")
	second.store = r.store
	second.configure(yaml)
	return second
}

func (r *rig) configFile() string { return filepath.Join(r.dir, "pmcheck.yaml") }

// configure writes pmcheck.yaml.
func (r *rig) configure(yaml string) {
	r.t.Helper()
	own := fmt.Sprintf("listen: %s\nsocket: %s\nholds: {persistent: %s, until_reboot: %s}\n",
		r.address, filepath.Join(r.dir, "pmcheck.sock"), r.store.Persistent, r.store.UntilReboot)
	if err := os.WriteFile(r.configFile(), []byte(own+yaml), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// command prepares a pmcheck that knows nothing but its configuration file.
func (r *rig) command(args ...string) *exec.Cmd {
	r.t.Helper()
	cmd := exec.Command(lab.Build(r.t), append(args, "--config", r.configFile())...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs a command of pmcheck and returns what it printed and its exit status.
func (r *rig) run(args ...string) (stdout string, status int) {
	r.t.Helper()
	cmd := r.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	if errs.Len() > 0 {
		r.t.Logf("pmcheck %s says on stderr:\n%s", strings.Join(args, " "), &errs)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// start starts the daemon, behind a program that becomes it if one is named. It
// ends with the test.
func (r *rig) start(behind ...string) {
	r.t.Helper()
	log, err := os.Create(r.logFile())
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	r.cmd, r.done = r.command("serve"), make(chan struct{})
	r.cmd.Stderr = log
	if len(behind) > 0 {
		r.cmd.Path = lab.Need(r.t, behind[0], "util-linux")
		r.cmd.Args = append(behind, r.cmd.Args...)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		r.cmd.Wait() // the exit status is in ProcessState
	}()
	r.t.Cleanup(func() {
		r.cmd.Process.Kill() // does nothing once it has ended
		<-r.done
		if r.t.Failed() {
			r.t.Logf("pmcheck logged:\n%s", r.log())
		}
	})
}

func (r *rig) signal(sig os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) logFile() string { return filepath.Join(r.dir, "pmcheck.log") }

// log returns what the daemon has logged so far.
func (r *rig) log() string {
	r.t.Helper()
	data, err := os.ReadFile(r.logFile())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// ask asks as a balancer does, over a connection of its own. It may be called
// concurrently.
func (r *rig) ask(path string) (code int, body string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + r.address + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSuffix(string(data), "\n"), err
}

// await polls about a thousand times per second until the answer is the wanted
// one, and returns how long that took. An empty body stands for any.
func (r *rig) await(code int, body string, within time.Duration) time.Duration {
	r.t.Helper()
	return lab.RetryUntil(r.t, within, time.Millisecond, func() error {
		gotCode, gotBody, err := r.ask("/")
		if err == nil && (gotCode != code || body != "" && gotBody != body) {
			err = fmt.Errorf("the answer is %d %q, want %d %q", gotCode, gotBody, code, body)
		}
		return err
	})
}

// status returns what /status says.
func (r *rig) status() api.Status {
	r.t.Helper()
	code, body, err := r.ask("/status")
	var s api.Status
	if err == nil {
		err = json.Unmarshal([]byte(body), &s)
	}
	if code != http.StatusOK || err != nil {
		r.t.Fatalf("/status: %d, %v", code, err)
	}
	return s
}

// standIn starts a stand-in master and returns it with the lines of
// pmcheck.yaml that point at it.
func standIn(t *testing.T) (m *checktest.Master, yaml string) {
	t.Helper()
	dir := t.TempDir()
	m, err := checktest.NewMaster(dir, "standin.lab.example", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, puppetConf(filepath.Join(dir, "puppet.conf"))
}

func puppetConf(path string) string { return fmt.Sprintf("puppet: {conf: %s}\n", path) }

// measured logs a figure in the way doc.go describes.
func measured(t *testing.T, what string, figure any) {
	t.Helper()
	if d, ok := figure.(time.Duration); ok {
		figure = fmt.Sprintf("%d ms", d.Milliseconds())
		if d < 10*time.Millisecond {
			figure = fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
		}
	}
	t.Logf("measured: %s: %v", what, figure)
}

// within asserts a bound on a measured time.
func within(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	measured(t, what, took)
	if took > bound {
		t.Errorf("%s took %v, documented is %v at most", what, took, bound)
	}
}

// long reports whether PMCHECK_LONG asks for what takes minutes: catalogs of
// 90 s, five rounds of everything, costs over five minutes.
func long() bool { return os.Getenv("PMCHECK_LONG") != "" }
