package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestStates brings real masters into the states that Puppet's own status
// does not tell apart, and prints what was seen as the table in the README.
func TestStates(t *testing.T) {
	lab.Real(t)
	lab.Build(t)
	var onServer, onHost sights
	done := t.Run("real", func(t *testing.T) {
		t.Run("server", func(t *testing.T) {
			t.Parallel()
			testServerStates(t, &onServer)
		})
		t.Run("host", func(t *testing.T) {
			t.Parallel()
			testHostStates(t, &onHost)
		})
	})
	seen := append(onServer, onHost...)
	fmt.Print(seen)
	if done {
		seen.compareREADME(t)
	}
}

// jrubies is how many instances the server has.
const jrubies = 3

// testServerStates takes one Puppet Server through its states. The subtests
// leave it fit, but for the last.
func testServerStates(t *testing.T, seen *sights) {
	address := lab.FreeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	opts := lab.PuppetServerOptions{
		Address:            address,
		MaxActiveInstances: jrubies,
		HeapMB:             768,
		Settings:           map[string]string{"serverport": port},
	}
	if long() {
		opts.JavaArgs = []string{} // a JVM as shipped, which takes minutes to settle
	}
	s := lab.StartPuppetServer(t, opts)
	measured(t, "first start of Puppet Server", s.WaitReady(5*time.Minute))
	s.IssueCert(agentName, nil)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.PuppetServer, *sights)
	}{
		{"JRubies", testJRubies},
		{"flood", testFlood},
		{"cost", testCost},
		{"expired CRL", testStateOfCRL},
		{"renewed certificate", testRenewed},
		{"start without a CA", testStart},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, s, seen) }) {
			return // the next one would meet a server in an unknown state
		}
	}
}

// A sight is a state of a master as it was seen: a row of the table.
type sight struct {
	state  string
	said   string // by pmcheck
	after  time.Duration
	puppet string // what Puppet's own status said at that moment
}

// sights print as a table in Markdown.
type sights []sight

func (s *sights) add(state, said string, after time.Duration, puppet string) {
	*s = append(*s, sight{state, said, after, puppet})
}

func (s sights) String() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| State | pmcheck said | after | Puppet's own status said |")
	fmt.Fprintln(b, "| --- | --- | --- | --- |")
	for _, row := range s {
		after := fmt.Sprintf("%.1f s", row.after.Seconds())
		if row.after < time.Second {
			after = fmt.Sprintf("%d ms", row.after.Milliseconds())
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", row.state, row.said, after, row.puppet)
	}
	return b.String()
}

// compareREADME fails the test unless the README has the same table, but for
// the times.
func (s sights) compareREADME(t *testing.T) {
	t.Helper()
	readme, err := os.ReadFile("../../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for line := range strings.Lines(string(readme)) {
		if cells := strings.Split(strings.Trim(line, "|\n"), "|"); len(cells) == 4 {
			told[cells[0]+cells[1]+cells[3]] = true
		}
	}
	for _, row := range s {
		if !told[" "+row.state+"  "+row.said+"  "+row.puppet+" "] {
			t.Errorf("the table in README.md has no such row: %s", sights{row})
		}
	}
}

// curlTimeout is the exit status of a curl whose time is over.
const curlTimeout = 28

// puppetSays is what a curl for Puppet's own status is answered, within 2 s.
func puppetSays(code int, body string, err error) string {
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() == curlTimeout:
		return "nothing, for 2 s"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprintf("%d `%s`", code, body)
}

// curl asks a server as a check does that has no certificate.
func curl(s *lab.PuppetServer) string { return puppetSays(s.CurlStatus()) }

// refuses is what pmcheck says of a master that is to get no agents.
func refuses(body string) string { return fmt.Sprintf("503 `%s`", body) }

// serves is what pmcheck says of one that is to get them: a balancer hears 200,
// an operator more.
func serves(more string) string { return fmt.Sprintf("200, `%s` in its status", more) }

// awaitRefusal waits for an answer of 503 and returns how long that took.
func (r *rig) awaitRefusal(body string, within time.Duration) time.Duration {
	r.t.Helper()
	return r.await(http.StatusServiceUnavailable, body, within)
}

// awaitServing waits until balancers are told 200 for this verdict, such as
// "busy: jruby-busy".
func (r *rig) awaitServing(verdict string, within time.Duration) time.Duration {
	r.t.Helper()
	return lab.RetryUntil(r.t, within, 5*time.Millisecond, func() error {
		server := r.status().Services[0]
		if got := verdictText(server); got != verdict || server.Answer.Code != http.StatusOK {
			return fmt.Errorf("the answer is %d for %q, want 200 for %q", server.Answer.Code, got, verdict)
		}
		return nil
	})
}

func verdictText(s api.ServiceStatus) string {
	return fmt.Sprintf("%s: %s", s.Verdict.Health, s.Verdict.Reason)
}

// awaitFinding waits until a check finds a reason and returns how long that took.
func (r *rig) awaitFinding(name string, reason check.Reason, within time.Duration) time.Duration {
	r.t.Helper()
	return lab.RetryUntil(r.t, within, 5*time.Millisecond, func() error {
		if got := finding(r.status(), name).Reason; got != reason {
			return fmt.Errorf("the check %s finds %q, want %q", name, got, reason)
		}
		return nil
	})
}

// finding returns what a check has found; the zero value if it is not made.
func finding(s api.Status, name string) api.CheckStatus {
	for _, c := range s.Services[0].Checks {
		if c.Check == name {
			return c
		}
	}
	return api.CheckStatus{}
}
