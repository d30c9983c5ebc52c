//go:build linux

package e2e_test

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestWaitNeedsNoCountFromADeadMaster: a master that refuses connections has no requests
// in flight, so a missing count of its JRubies does not matter.
func TestWaitNeedsNoCountFromADeadMaster(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	r.WaitStatus(10*time.Second, func(s lab.Status) error {
		if lab.Finding(s, check.CheckJRuby).Pool == nil {
			return errors.New("the JRubies have not been counted")
		}
		return nil
	})
	r.SetMaster(checktest.Stopped)
	r.WaitRefusal("unhealthy: refused", 5*time.Second)
	r.MustRun("drain", "--wait=30s") // for 10 s, it waits for a balancer that has asked before
}

// TestWaitLastsWhileAConnectionIsInUse: drain --wait waits for connections to the port in
// puppet.conf.
func TestWaitLastsWhileAConnectionIsInUse(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	c, err := net.Dial("tcp", r.MasterAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte{22}); err != nil { // the first byte of TLS; Idle counts from the last byte
		t.Fatal(err)
	}
	out, err := r.Command("drain", "--now", "--wait=2s").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 6 ||
		!strings.Contains(string(out), "1 connection in use, from 127.0.0.1") {
		t.Errorf("%v, want exit status 6 for the connection:\n%s", err, out)
	}
}
