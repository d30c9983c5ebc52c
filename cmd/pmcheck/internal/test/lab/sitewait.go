//go:build linux

package lab

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The functions here poll, fail the test with what was last seen, and return how
// long it took, as WaitFor does.

// WaitAnswer waits until balancers get this answer. An empty body stands for any.
func (s *Site) WaitAnswer(code int, body string, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswerTo("/", code, body, within)
}

// WaitAnswerTo is WaitAnswer for balancers that ask for a path.
func (s *Site) WaitAnswerTo(path string, code int, body string, within time.Duration) time.Duration {
	s.TB.Helper()
	return WaitFor(s.TB, within, time.Millisecond, func() error {
		gotCode, gotBody, err := s.Ask(path)
		if err == nil && (gotCode != code || body != "" && gotBody != body) {
			err = fmt.Errorf("%s: the answer is %d %q, want %d %q", path, gotCode, gotBody, code, body)
		}
		return err
	})
}

// WaitServing waits until balancers are told to use the master.
func (s *Site) WaitServing(within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswer(http.StatusOK, ServingBody, within)
}

// WaitRefusal waits until balancers are told 503 and this body.
func (s *Site) WaitRefusal(body string, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswer(http.StatusServiceUnavailable, body, within)
}

// WaitHealthy waits until pmcheck has found the master healthy, held or not.
func (s *Site) WaitHealthy(within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswerTo("/?drain=200&maint=200", http.StatusOK, "", within)
}

// WaitLive waits until a daemon that was started answers.
func (s *Site) WaitLive(within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswerTo("/live", http.StatusOK, "", within)
}

// WaitStatus waits until want returns nil for what pmcheck knows. It asks again where
// an answer comes late: on a machine where a whole flood is at work, one may.
func (s *Site) WaitStatus(within time.Duration, want func(Status) error) time.Duration {
	s.TB.Helper()
	return WaitFor(s.TB, within, 5*time.Millisecond, func() error {
		status, err := s.status()
		if err != nil {
			return err
		}
		return want(status)
	})
}

// WaitVerdict waits until balancers are told 200 for this verdict, such as "busy:
// jruby-busy".
func (s *Site) WaitVerdict(verdict string, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitStatus(within, func(status Status) error {
		server := status.Services[0]
		if got := VerdictText(server); got != verdict || server.Answer.Code != http.StatusOK {
			return fmt.Errorf("the answer is %d for %q, want 200 for %q", server.Answer.Code, got, verdict)
		}
		return nil
	})
}

// WaitFinding waits until a check finds a reason.
func (s *Site) WaitFinding(name string, reason check.Reason, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitStatus(within, func(status Status) error {
		if got := Finding(status, name).Reason; got != reason {
			return fmt.Errorf("the check %s finds %q, want %q", name, got, reason)
		}
		return nil
	})
}

// WaitBalancer waits until pmcheck's view of some balancer is as wanted, and
// returns it.
func (s *Site) WaitBalancer(want func(Balancer) bool, within time.Duration) (found Balancer) {
	s.TB.Helper()
	s.WaitStatus(within, func(status Status) error {
		for _, b := range status.Balancers {
			if want(b) {
				found = b
				return nil
			}
		}
		return fmt.Errorf("pmcheck knows of these balancers: %+v", status.Balancers)
	})
	return found
}

// WaitLog waits until the daemon has logged a text.
func (s *Site) WaitLog(text string, within time.Duration) time.Duration {
	s.TB.Helper()
	return WaitFor(s.TB, within, 10*time.Millisecond, func() error {
		if log := s.Log(); !strings.Contains(log, text) {
			return fmt.Errorf("%q is not in the log:\n%s", text, log)
		}
		return nil
	})
}
