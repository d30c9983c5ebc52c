//go:build linux

package peers_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestHealthChecksInTheExamplesOfOtherBalancersAreRight makes the health checks of balancers that are not in Debian,
// as their examples have them, and concludes from the answers what the examples say.
func TestHealthChecksInTheExamplesOfOtherBalancersAreRight(t *testing.T) {
	lab.Real(t)
	const send, drained, down = "send", "drained", "down"
	d := lab.StartDemo(t, network(t, first), first)
	examples := []struct{ file, port, path, send, drained string }{ // patterns
		{"f5/pmcheck.conf", `destination \*:(\d+)$`, `send "GET (\S+) HTTP/1\.0\\r\\n\\r\\n"$`,
			`recv "\^HTTP/1\\.\[01\] (\d+)"$`, `recv-disable "\^HTTP/1\\.\[01\] (\d+)"$`},
		{"aws/nlb.yaml", `HealthCheckPort: "(\d+)"$`, `HealthCheckPath: (\S+)$`, `HttpCode: "(\d+)"`, ""},
		{"envoy/envoy.yaml", `health_check_config: \{ port_value: (\d+) \}$`, `^ +path: (\S+)$`,
			`expected_statuses:\n +- \{ start: (\d+), end: 201 \}`, ""},
	}
	for _, step := range []struct{ word, body, want string }{
		{"ready", lab.ServingBody, send},
		{"drain", "drain", drained},
		{"maint", "maint", down},
		{"ready", lab.ServingBody, send},
		{"stopped", "unhealthy: refused", down},
	} {
		d.Type(step.word, step.body)
		for _, e := range examples {
			text := lab.Read(t, example(t, e.file))
			find := func(pattern string) string {
				found := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(text)
				if found == nil {
					t.Fatalf("%s has no %s", e.file, pattern)
				}
				return found[1]
			}
			code, _, err := d.Get(find(e.path), nil)
			if port := find(e.port); err != nil || port != "9200" {
				t.Fatalf("%s asks port %s: %v", e.file, port, err)
			}
			got, want := down, step.want
			switch {
			case strconv.Itoa(code) == find(e.send):
				got = send
			case e.drained == "" && want == drained:
				want = down
			case e.drained != "" && strconv.Itoa(code) == find(e.drained):
				got = drained
			}
			if got != want {
				t.Errorf("%s after %q: the balancer concludes %q of a %d, want %q", e.file, step.word, got, code, want)
			}
		}
	}
}
