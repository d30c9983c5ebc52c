package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
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
	if code, body, err := r.ask("/"); code != http.StatusOK || body != answer.Serving || err != nil {
		t.Errorf("after a bad configuration: %d %q, %v; want what the old one gave", code, body, err)
	}

	r.configure(second)
	r.signal(syscall.SIGHUP)
	measured(t, "SIGHUP to the new configuration's answer", r.await(http.StatusServiceUnavailable, "unhealthy: state-error", 5*time.Second))
	if s := r.status(); s.Config.Error != "" {
		t.Errorf("/status still tells of a bad configuration: %s", s.Config.Error)
	}
}

// TestTerminate: after SIGTERM nobody new is let in, an answer under way is
// finished, and the exit status is 0.
func TestTerminate(t *testing.T) {
	lab.Real(t)
	_, conf := standIn(t)
	r := serve(t, conf)
	c := r.underWay()

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

	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("the answer that was under way: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || string(body) != answer.Serving+"\n" || err != nil {
		t.Errorf("the answer that was under way: %d %q, %v; want 200", resp.StatusCode, body, err)
	}
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
		t.Fatal("pmcheck has not ended")
	}
	measured(t, "SIGTERM to the end", time.Since(asked))
	if status := r.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

// underWay asks in such a way that the answer is decided, and held back until
// the client sends one more byte: it has announced a body.
func (r *rig) underWay() net.Conn {
	r.t.Helper()
	before := r.answers()
	c, err := net.Dial("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: master\r\nContent-Length: 1\r\n\r\n"); err != nil {
		r.t.Fatal(err)
	}
	lab.RetryUntil(r.t, 5*time.Second, time.Millisecond, func() error {
		if r.answers() == before {
			return errors.New("the request is not being answered")
		}
		return nil
	})
	return c
}

// answers returns the line of /metrics that counts good answers; scrapes do
// not count.
func (r *rig) answers() string {
	r.t.Helper()
	_, metrics, err := r.ask("/metrics")
	line := regexp.MustCompile(`(?m)^pmcheck_answers_total\{client="other",code="200"\} .*$`).FindString(metrics)
	if err != nil || line == "" {
		r.t.Fatalf("/metrics: %v, with %q", err, line)
	}
	return line
}
