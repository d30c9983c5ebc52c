//go:build linux

package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestReloadAppliesValidConfigurationsOnly: SIGHUP applies a valid configuration. For an
// invalid one, the log and the status say why it is not applied.
func TestReloadAppliesValidConfigurationsOnly(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	failing := lab.StartStandIn(t, lab.StandInName)
	if err := failing.Set(checktest.Error); err != nil {
		t.Fatal(err)
	}

	r.Configure("probe: {intervall: 1s}\n")
	r.Signal(syscall.SIGHUP)
	r.WaitStatus(5*time.Second, func(s lab.Status) error {
		if s.Config.Error == "" {
			return errors.New("/status does not report that the configuration is invalid")
		}
		return nil
	})
	if log := r.Log(); !strings.Contains(log, "probe.intervall") || !strings.Contains(log, "not reloaded") {
		t.Errorf("the log does not say what is wrong:\n%s", log)
	}
	probed := r.Status().Probe.Count
	r.WaitStatus(10*time.Second, func(s lab.Status) error {
		if s.Probe.Count == probed {
			return errors.New("no probe since the failed reload")
		}
		return nil
	})
	if code, body, err := r.Ask("/"); code != http.StatusOK || body != lab.ServingBody || err != nil {
		t.Errorf("after a failed reload: %d %q, %v; want the answer as before", code, body, err)
	}

	r.Configure("")
	r.ConfigurePuppet(filepath.Join(failing.Dir, "puppet.conf"))
	r.Signal(syscall.SIGHUP)
	measured(t, "SIGHUP to the new configuration's answer",
		r.WaitRefusal("unhealthy: state-error", 5*time.Second))
	if s := r.Status(); s.Config.Error != "" {
		t.Errorf("/status still reports an invalid configuration: %s", s.Config.Error)
	}
}

// TestShutdownFinishesAnswersInFlight: after SIGTERM new connections are refused, an
// answer in flight is finished, and the exit status is 0.
func TestShutdownFinishesAnswersInFlight(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	c := startRequest(r)

	asked := time.Now()
	r.Signal(syscall.SIGTERM)
	lab.WaitFor(t, 5*time.Second, time.Millisecond, func() error {
		if c, err := net.Dial("tcp", r.Listen); err == nil {
			c.Close()
			return fmt.Errorf("%s still accepts", r.Listen)
		}
		return nil
	})
	measured(t, "SIGTERM to connections refused", time.Since(asked))

	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("the answer in flight: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || string(body) != lab.ServingBody+"\n" || err != nil {
		t.Errorf("the answer in flight: %d %q, %v; want 200", resp.StatusCode, body, err)
	}
	status := r.WaitExit(10 * time.Second)
	measured(t, "SIGTERM to the end", time.Since(asked))
	if status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

// startRequest sends a request and returns once its answer is decided. The answer is held
// back until the client sends one more byte, the body that it has announced.
func startRequest(r *lab.Site) net.Conn {
	r.TB.Helper()
	before := answers(r)
	c, err := net.Dial("tcp", r.Listen)
	if err != nil {
		r.TB.Fatal(err)
	}
	r.TB.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: master\r\nContent-Length: 1\r\n\r\n"); err != nil {
		r.TB.Fatal(err)
	}
	lab.WaitFor(r.TB, 5*time.Second, time.Millisecond, func() error {
		if answers(r) == before {
			return errors.New("the request is not being answered")
		}
		return nil
	})
	return c
}

// answers returns the line of /metrics that counts answers with 200. Scrapes are not
// counted.
func answers(r *lab.Site) string {
	r.TB.Helper()
	_, metrics, err := r.Ask("/metrics")
	line := regexp.MustCompile(`(?m)^pmcheck_answers_total\{client="other",code="200"\} .*$`).FindString(metrics)
	if err != nil || line == "" {
		r.TB.Fatalf("/metrics: %v, with %q", err, line)
	}
	return line
}
