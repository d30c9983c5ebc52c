package show_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// member returns a master that has been in service for three hours, or held since,
// and what its balancers say of it.
func member(host string, mode drain.Mode, views ...string) status.Member {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := status.Status{Time: now, Services: []status.ServiceStatus{{
		Name:         "server",
		Mode:         mode,
		Answer:       status.Answer{Code: 200},
		ServingSince: now.Add(-3 * time.Hour),
		Verdict:      check.Verdict{Health: check.Healthy, Reason: check.OK},
		Checks:       []status.CheckStatus{{Finding: check.Finding{Pool: &check.Pool{Size: 4, Free: 3}}}},
	}}}
	if mode != drain.Ready {
		s.Services[0].Answer.Code = 503
		s.Holds = []drain.Hold{{Holder: "operator", Mode: mode}}
	}
	for _, view := range views {
		b := status.Balancer{Service: "server", Checks: 5, Interval: 2}
		switch state, steps, _ := strings.Cut(view, " "); {
		case view == "caller":
			b.Checks = 1
		case view != "silent":
			b.View = &status.View{State: state}
			if steps != "" {
				b.View.Step, b.View.Steps = int(steps[0]-'0'), int(steps[2]-'0')
			}
		}
		s.Balancers = append(s.Balancers, b)
	}
	return status.Member{Host: host, Status: &s}
}

func TestFleetIsATable(t *testing.T) {
	ready, drained := drain.Ready, drain.Drain
	announced := member("m8", ready, "UP")
	guards := drain.Hold{Holder: "guard", Mode: drain.Drain, Leaving: drain.LeavingInTurn}
	announced.Status.Holds = []drain.Hold{guards}
	dead := member("m9", ready)
	dead.Status.Services[0].Answer.Code = 503
	dead.Status.Services[0].Verdict = check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Refused}
	const refused = "the daemon does not answer on http://m3:9200: dial tcp 192.0.2.3:9200: connect: connection refused"
	var b strings.Builder
	show.Fleet(&b, []status.Member{
		member("m1", ready, "UP", "UP", "UP"),
		member("m2.example.com", drained, "NOLB"),
		{Host: "m3", Error: refused},
		member("m4", ready, "UP", "DOWN 1/2", "UP"),
		member("m5", drained, "UP 2/3", "MAINT", "NOLB", "DRAIN", "UP", "DOWN", "silent", "silent"),
		member("m6", ready, "silent"),
		member("m7", ready, "caller"),
		announced,
		dead,
	})
	want := `
master told since mode verdict send jrubies code holds
m2.example.com 503 3h ago drain healthy 0/1 3/4 free - operator
m3 - - - no status - - - -
m5 503 3h ago drain healthy 2/6 3/4 free - operator
m9 503 3h ago ready unhealthy: refused 0/0 - - -
m1 200 3h ago ready healthy 3/3 3/4 free - -
m4 200 3h ago ready healthy 2/3 3/4 free - -
m6 200 3h ago ready healthy 0/0 3/4 free - -
m7 200 3h ago ready healthy 0/0 3/4 free - -
m8 200 3h ago ready healthy 1/1 3/4 free - guard leaving

m3: ` + refused + `

5 of 9 masters serve: m2.example.com 503 drain, healthy; m3 no status; m5 503 drain, healthy; ` +
		"m9 503 ready, unhealthy: refused\n"
	got := b.String()
	if diff := cmp.Diff(want[1:], squeeze(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	assertColumns(t, got)
}

func TestFleetMarksCodeThatDiffers(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"a", "a"},
		{"a a", "a, a"},
		{"b a b", "b, a differs, b"},
		{"b a", "b differs, a differs"},
		{"a -", "a, -"},
	} {
		var pool []status.Member
		for _, id := range strings.Fields(tt.code) {
			m := member("m", drain.Ready)
			m.Status.Services[0].Checks = []status.CheckStatus{{Finding: check.Finding{Code: []check.Environment{
				{Name: "dev", ID: "d"},
				{Name: "production", ID: strings.Trim(id, "-")},
			}}}}
			pool = append(pool, m)
		}
		var b strings.Builder
		show.Fleet(&b, pool)
		table, _, _ := strings.Cut(b.String(), "\n\n")
		var column []string
		for _, line := range strings.Split(table, "\n")[1:] {
			code, _, _ := strings.Cut(line[strings.Index(table, "code"):], "  ")
			column = append(column, code)
		}
		if got := strings.Join(column, ", "); got != tt.want {
			t.Errorf("%s: the column is %q, want %q\n%s", tt.code, got, tt.want, table)
		}
	}
}

// Below a table of any length, the lists end within a screen.
func TestFleetOfAHundredIsReadable(t *testing.T) {
	var pool []status.Member
	for i := range 100 {
		pool = append(pool, status.Member{Host: fmt.Sprintf("m%02d", i), Error: "timeout"})
	}
	var b strings.Builder
	show.Fleet(&b, pool)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for at, want := range map[int]string{100: "m99 ", 102: "m00: timeout", 120: "m18: timeout", 121: "and 81 more"} {
		if !strings.HasPrefix(lines[at], want) {
			t.Errorf("line %d is %q, want %q", at, lines[at], want)
		}
	}
	const first, last = "0 of 100 masters serve: m00 no status; m01 no status; ", "; and 81 more"
	if line := lines[len(lines)-1]; !strings.HasPrefix(line, first) || !strings.HasSuffix(line, last) {
		t.Errorf("the last line is %q", line)
	}
}

// squeeze leaves one space between words.
func squeeze(table string) string {
	var lines []string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// assertColumns fails unless each column of a table begins at the same place in each row.
func assertColumns(t *testing.T, table string) {
	t.Helper()
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(strings.TrimRight(table, "\n"), "\n")
	for _, name := range strings.Fields(lines[0])[1:] {
		at := strings.Index(lines[0], name)
		for _, line := range lines[1:] {
			if at >= len(line) || line[at] == ' ' || line[at-1] != ' ' {
				t.Errorf("column %s is not aligned in %q", name, line)
			}
		}
	}
}
