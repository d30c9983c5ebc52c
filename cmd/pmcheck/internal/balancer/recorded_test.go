package balancer

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A recorded check is one that the HAProxy of a release made in a state of its servers.
type recorded struct {
	status string // in "show stat"
	header string // or "no checks"
}

// conclusion returns what pmcheck reads from the header: whether the balancer sends to the server,
// whether it shows a spare, and how far the server is on the way to another state.
func (r recorded) conclusion(t *testing.T) string {
	t.Helper()
	if r.header == "no checks" {
		return r.header
	}
	v, ok := parseView(r.header)
	if !ok {
		t.Fatalf("refused: %s", r.header)
	}
	text := "out, "
	if v.Sends() {
		text = "sends, "
	}
	if v.OthersWeight() == 0 {
		text += "no "
	}
	text += "spare"
	if _, steps, _ := strings.Cut(v.String(), " "); steps != "" {
		text += ", " + steps
	}
	return text
}

// readRecorded returns the recorded checks, by state and server, and the states in order.
func readRecorded(t *testing.T) (checks map[string]map[string]recorded, states []string) {
	t.Helper()
	const path = "testdata/haproxy.txt"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checks = map[string]map[string]recorded{}
	check := regexp.MustCompile(`^  (own|peer) \(([^)]+)\): (.+)$`)
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		switch m := check.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
		case m != nil && len(states) > 0:
			checks[states[len(states)-1]][m[1]] = recorded{status: m[2], header: m[3]}
		case strings.HasPrefix(line, " ") || checks[line] != nil:
			t.Fatalf("%s: unexpected line %q", path, line)
		default:
			states = append(states, line)
			checks[line] = map[string]recorded{}
		}
	}
	return checks, states
}

// TestRecordedHeaders asserts what pmcheck concludes from the header that HAProxy sends in each
// state. HAProxy 2.2, 2.6, 3.0 and 3.2 send the same.
func TestRecordedHeaders(t *testing.T) {
	tests := []struct {
		state     string
		own, peer string // what pmcheck concludes from the headers
	}{
		{"starting", "sends, spare, 1/3", "sends, spare, 1/3"},
		{"up", "sends, spare", "sends, spare"},
		{"going down 1", "sends, spare, 2/3", "sends, spare"},
		{"going down 2", "sends, spare, 1/3", "sends, spare"},
		{"down", "out, spare", "sends, no spare"},
		{"coming up", "out, spare, 1/2", "sends, no spare"},
		{"up again", "sends, spare", "sends, spare"},
		{"going down 2, then 200", "sends, spare", "sends, spare"},
		{"going down 1, then 404", "out, spare", "sends, no spare"},
		{"starting, then 404", "out, spare", "sends, no spare"},
		{"starting, then 503", "out, spare", "sends, no spare"},
		{"down, then 404", "out, spare", "sends, no spare"},
		{"down, then 404 twice", "out, spare", "sends, no spare"},
		{"coming up, then 404", "out, spare", "sends, no spare"},
		{"both down", "out, no spare", "out, no spare"},
		{"nolb", "out, spare", "sends, no spare"},
		{"both nolb", "out, no spare", "out, no spare"},
		{"back from nolb, peer nolb", "sends, no spare", "out, spare"},
		{"nolb, peer down", "out, no spare", "out, no spare"},
		{"nolb, going down 1", "out, spare, 2/3", "sends, no spare"},
		{"nolb, going down 2", "out, spare, 1/3", "sends, no spare"},
		{"nolb, then down", "out, spare", "sends, no spare"},
		{"slowstart", "sends, spare", "sends, spare"},
		{"slowstart after nolb", "sends, spare", "sends, spare"},
		{"slowstart of both", "sends, spare", "sends, spare"},
		{"slowstart, weights of 1", "sends, spare", "sends, spare"},
		// HAProxy reports 1/1: it rounds up each weight and their total.
		{"slowstart of both, weights of 1", "sends, no spare", "sends, no spare"},
		{"maint by its administrator", "no checks", "sends, no spare"},
		{"maint by its administrator, peer nolb", "no checks", "out, no spare"},
		{"back from maint", "sends, spare, 1/3", "sends, spare"},
		// HAProxy sends to the peer alone, but reports UP and 100/100 to both.
		{"drained by its administrator", "sends, no spare", "sends, no spare"},
		{"drained by its administrator, then 404", "out, spare", "sends, no spare"},
		{"drained by its administrator, peer nolb", "sends, no spare", "out, no spare"},
		// The total is that of the servers before the backup, so neither header shows the other
		// server, unless the backup is lighter.
		{"unused backup", "sends, no spare", "sends, no spare"},
		{"used backup, peer nolb", "sends, no spare", "out, spare"},
		{"used backup, peer down", "sends, no spare", "out, spare"},
		{"backup nolb, peer down", "out, no spare", "out, no spare"},
		{"unused backup of weight 50", "sends, spare", "sends, no spare"},
		{"used backup of weight 50, peer nolb", "sends, no spare", "out, spare"},
		{"used backup of weight 50, peer down", "sends, no spare", "out, spare"},
		{"backup of weight 50 nolb, peer down", "out, no spare", "out, no spare"},
		// HAProxy sends nothing to own, but reports UP.
		{"weight 0 in the configuration", "sends, spare", "sends, no spare"},
		{"weight 0 by its administrator", "sends, spare", "sends, no spare"},
		{"weight 0 by its administrator, then 404", "out, spare", "sends, no spare"},
		{"weight 0 by its administrator, peer nolb", "sends, no spare", "out, no spare"},
		{"weight 50", "sends, spare", "sends, spare"},
		{"weights of 1", "sends, spare", "sends, spare"},
		{"the only server", "sends, no spare", ""},
		{"the only server nolb", "out, no spare", ""},
		{"the only server down", "out, no spare", ""},
	}
	checks, states := readRecorded(t)
	for _, tt := range tests {
		servers := checks[tt.state]
		if servers == nil {
			t.Errorf("%s: not recorded", tt.state)
		}
		for name, check := range servers {
			want := map[string]string{"own": tt.own, "peer": tt.peer}[name]
			if got := check.conclusion(t); got != want {
				t.Errorf("%s, %s: %s, want %s: %s", tt.state, name, got, want, check.header)
			}
		}
		states = slices.DeleteFunc(states, func(s string) bool { return s == tt.state })
	}
	if len(states) > 0 {
		t.Errorf("recorded, but not expected: %q", states)
	}
}

// TestRecordedHeadersNeverClaimTooMuch compares what pmcheck concludes with HAProxy's statistics: it
// sees a spare only if the other server is UP, and a server as out only if it is not UP. What a
// header does not tell can keep a master in the pool, but does not take one out.
func TestRecordedHeadersNeverClaimTooMuch(t *testing.T) {
	checks, states := readRecorded(t)
	for _, state := range states {
		for name, other := range map[string]string{"own": "peer", "peer": "own"} {
			check, isUp := checks[state][name], func(server string) bool {
				return strings.HasPrefix(checks[state][server].status, "UP")
			}
			if check.header == "" || check.header == "no checks" {
				continue
			}
			conclusion := check.conclusion(t)
			if strings.Contains(conclusion, ", spare") && !isUp(other) {
				t.Errorf("%s, %s: the other server is not UP", state, name)
			}
			if strings.HasPrefix(conclusion, "out") && isUp(name) {
				t.Errorf("%s, %s: HAProxy sends to it", state, name)
			}
		}
	}
}
