package soak_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A daemon is the pmcheck under test.
type daemon struct {
	address string
	pid     int
	store   *drain.Store
}

// serve starts pmcheck for a master and waits until it answers 200.
func serve(t *testing.T, m master) daemon {
	t.Helper()
	dir := t.TempDir()
	d := daemon{
		address: lab.FreeAddress(t, "127.0.0.1"),
		store:   &drain.Store{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run")},
	}
	for _, path := range []string{d.store.Persistent, d.store.UntilReboot} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "pmcheck.yaml")
	text := fmt.Sprintf("listen: %s\nsocket: %s/pmcheck.sock\nholds: {persistent: %s, until_reboot: %s}\npuppet: {conf: %s}\nprobe: {address: \"%s\"}\n",
		d.address, dir, d.store.Persistent, d.store.UntilReboot, m.puppetConf(), m.Address())
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	cmd := exec.Command(lab.Build(t), "serve", "--config", config)
	cmd.Env, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH")}, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("pmcheck logged, at the end:\n%s", log.String()[max(0, log.Len()-4000):])
		}
	})
	d.pid = cmd.Process.Pid
	lab.RetryUntil(t, 20*time.Second, 10*time.Millisecond, func() error {
		a, err := ask(http.DefaultClient, "http://"+d.address+"/", nil)
		if err == nil && a.code != http.StatusOK {
			err = fmt.Errorf("the answer is %d %q", a.code, a.body)
		}
		return err
	})
	return d
}
