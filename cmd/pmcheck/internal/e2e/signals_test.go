package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// TestReload: SIGHUP takes over a good configuration, and says why it does not
// take over a bad one.
func TestReload(t *testing.T) {
	lab.Real(t)
	_, first := standIn(t)
	ill, second := standIn(t)
	set(t, ill, checktest.Error)
	r := serve(t, first)

	r.configure(first + "probe: {intervall: 1s}\n")
	r.signal(syscall.SIGHUP)
	lab.RetryUntil(t, 5*time.Second, time.Millisecond, func() error {
		if r.status().Config.Error == "" {
			return errors.New("/status does not tell that the configuration is bad")
		}
		return nil
	})
	if log := r.log(); !strings.Contains(log, "probe.intervall") || !strings.Contains(log, "not reloaded") {
		t.Errorf("the log does not say what is wrong:\n%s", log)
	}
	probed := r.status().Probe.Count
	lab.RetryUntil(t, 10*time.Second, 10*time.Millisecond, func() error {
		if s := r.status(); s.Probe.Count == probed {
			return errors.New("the old configuration is no longer probed with")
		}
		return nil
	})
	if code, body, err := r.ask("/"); code != http.StatusOK || body != agent.Serving || err != nil {
		t.Errorf("after a bad configuration: %d %q, %v; want what the old one gave", code, body, err)
	}

	r.configure(second)
	r.signal(syscall.SIGHUP)
	measured(t, "SIGHUP to the new configuration's answer", r.await(http.StatusServiceUnavailable, "unhealthy: state-error", 5*time.Second))
	if s := r.status(); s.Config.Error != "" {
		t.Errorf("/status still tells of a bad configuration: %s", s.Config.Error)
	}
}

// TestTerminate: after SIGTERM nobody new is let in, the answer under way
// reaches its reader whole, and the exit status is 0.
func TestTerminate(t *testing.T) {
	lab.Real(t)
	const requests = 2000
	_, conf := standIn(t)
	r := serve(t, conf)
	answers := unread(t, r.address, requests)
	readAnswer(t, answers) // the daemon is at work on them

	asked := time.Now()
	r.signal(syscall.SIGTERM)
	lab.RetryUntil(t, 5*time.Second, time.Millisecond, func() error {
		if c, err := net.Dial("tcp", r.address); err == nil {
			c.Close()
			return fmt.Errorf("%s still accepts", r.address)
		}
		return nil
	})
	measured(t, "SIGTERM to nobody new", time.Since(asked))
	whole := 1
	for ; readAnswer(t, answers); whole++ {
	}
	if whole == requests {
		t.Error("no answer was under way at SIGTERM")
	}
	measured(t, "answers that a slow reader had whole", whole)
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
		t.Fatal("pmcheck has not ended")
	}
	measured(t, "SIGTERM to the end, with a slow reader", time.Since(asked))
	if status := r.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

// unread asks for more than the kernel will buffer, so that the daemon is
// stuck within an answer until somebody reads.
func unread(t *testing.T, address string, requests int) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	// The rest of the requests need not arrive once the daemon has ended.
	go io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: master\r\n\r\n", requests))
	return bufio.NewReader(c)
}

// readAnswer reads one whole answer; it returns false if no further one has
// begun, and fails the test if one ends too early.
func readAnswer(t *testing.T, answers *bufio.Reader) bool {
	t.Helper()
	if _, err := answers.Peek(1); err != nil {
		return false
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("an answer was cut off: %v", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatalf("an answer was cut off: %v", err)
	}
	return true
}
