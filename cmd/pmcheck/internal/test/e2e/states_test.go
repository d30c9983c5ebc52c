package e2e_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// jrubies is how many instances the server has.
const jrubies = 3

// TestStates takes one Puppet Server through states that Puppet's own status does not tell apart, and prints what was
// observed as a table. The subtests leave the server healthy, except the last.
func TestStates(t *testing.T) {
	lab.Real(t)
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		MaxActiveInstances: jrubies,
		HeapMB:             1536, // a full collection is a pause that no row has
		AccessRules:        adminRule,
	})
	lab.Build(t)
	s.WaitReady(5 * time.Minute)
	s.IssueCert(agentName, nil)
	var seen stateTable
	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.PuppetServer, *stateTable)
	}{
		{"quiet", testQuiet},
		{"drained and killed, by every line", testLines},
		{"paused", testPaused},
		{"JRubies", testJRubies},
		{"flush", testFlush},
		{"flood", testFlood},
		{"expired CRL", testStateOfCRL},
		{"renewed certificate", testRenewed},
		{"start without a CA", testStart},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, s, &seen) }) {
			return // the next one would meet a server in an unknown state
		}
	}
	fmt.Print(seen)
	lab.Publish(t, "states", seen.String())
	seen.compareProof(t)
}

// A stateRow is a state of a master as it was observed: a row of the table.
type stateRow struct {
	state  string
	said   string // by pmcheck
	after  time.Duration
	puppet string // what Puppet's own status said at that moment
}

type stateTable []stateRow

func (s *stateTable) add(state, said string, after time.Duration, puppet string) {
	*s = append(*s, stateRow{state, said, after, puppet})
}

func (s stateTable) String() string {
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

// compareProof fails the test unless proof.md has the same table, apart from the times.
func (s stateTable) compareProof(t *testing.T) {
	t.Helper()
	told := map[string]bool{}
	for line := range strings.Lines(lab.Proof(t, "states")) {
		if cells := strings.Split(strings.Trim(line, "|\n"), "|"); len(cells) == 4 {
			told[cells[0]+cells[1]+cells[3]] = true
		}
	}
	for _, row := range s {
		if !told[" "+row.state+"  "+row.said+"  "+row.puppet+" "] {
			t.Errorf("the table in %s has no such row: %s", lab.ProofFile, stateTable{row})
		}
	}
}

// curl describes what a curl without a certificate for Puppet's own status got.
func curl(t *testing.T, s *lab.PuppetServer) string {
	t.Helper()
	return curlFor(t, s, 10) // a busy machine may take its time
}

// curlFor describes what it got within so many seconds.
func curlFor(t *testing.T, s *lab.PuppetServer, seconds int) string {
	t.Helper()
	cmd := exec.Command(lab.Need(t, "curl", "curl"), "--noproxy", "*", "--insecure", "--silent", "--show-error",
		"--max-time", strconv.Itoa(seconds), "--write-out", "\n%{http_code}", "https://"+s.Address()+"/status/v1/simple")
	out, err := cmd.CombinedOutput()
	body, code, _ := strings.Cut(string(out), "\n")
	switch {
	case cmd.ProcessState.ExitCode() == 28: // it timed out
		return fmt.Sprintf("nothing, for %d s", seconds)
	case err != nil:
		return fmt.Sprintf("curl: %v: %s", err, body)
	}
	return fmt.Sprintf("%s `%s`", code, body)
}

// refuses describes pmcheck's answer for a master that must get no agents.
func refuses(body string) string { return fmt.Sprintf("503 `%s`", body) }

// serves describes pmcheck's answer for a master that stays in service: balancers get
// 200, and the status says more.
func serves(more string) string { return fmt.Sprintf("200, `%s` in its status", more) }
