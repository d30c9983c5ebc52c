package lab

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The methods in this file poll and return how long it took, as WaitFor does. After within,
// they fail the test with what they saw last.

// WaitAnswer waits until balancers get this answer. An empty body matches any.
func (s *Site) WaitAnswer(code int, body string, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswerTo("/", code, body, within)
}

// WaitAnswerTo is like WaitAnswer, for balancers that ask for a path.
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

// WaitServing waits until balancers get 200 with the body of a master in service.
func (s *Site) WaitServing(within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswer(http.StatusOK, ServingBody, within)
}

// WaitRefusal waits until balancers get 503 with this body.
func (s *Site) WaitRefusal(body string, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitAnswer(http.StatusServiceUnavailable, body, within)
}

// WaitStatus waits until want returns nil for the daemon's status. It asks again after a
// timeout, since answers may be late while a test floods the daemon with requests.
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

// WaitVerdict waits until balancers get 200 for this verdict, such as "busy: jruby-busy".
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

// WaitFinding waits until the named check finds this reason.
func (s *Site) WaitFinding(name string, reason check.Reason, within time.Duration) time.Duration {
	s.TB.Helper()
	return s.WaitStatus(within, func(status Status) error {
		if got := Finding(status, name).Reason; got != reason {
			return fmt.Errorf("the check %s finds %q, want %q", name, got, reason)
		}
		return nil
	})
}

// WaitKnown waits until every check that is on by default has found something out.
func (s *Site) WaitKnown(within time.Duration) {
	s.TB.Helper()
	absent := []string{check.CheckProbe, check.CheckPuppetDB} // not a finding, and not configured
	s.WaitStatus(within, func(status Status) (err error) {
		for _, c := range check.All() {
			f := Finding(status, c.Name)
			isKnown := f.State != "" && f.State != check.StateNone
			if c.Severity != check.Off && !isKnown && !slices.Contains(absent, c.Name) {
				err = errors.Join(err, fmt.Errorf("the check %s does not know: %+v", c.Name, f))
			}
		}
		return err
	})
}
