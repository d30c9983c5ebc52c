package peers_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestProgramsAcceptTheirExamples: keepalived's LVS needs a kernel module that not every machine has, and nginx never
// asks pmcheck, but may follow a name server that does.
func TestProgramsAcceptTheirExamples(t *testing.T) {
	lab.Real(t)
	n := network(t, balanced)
	nginx := []string{"-t", "-q", "-e", "stderr", "-g", "pid " + filepath.Join(t.TempDir(), "pid") + ";", "-c"}
	for _, c := range []struct {
		program, from string
		args          []string
	}{
		{"nginx", "nginx-light libnginx-mod-stream", append(slices.Clone(nginx), example(t, "nginx/stream.conf"))},
		{"nginx", "nginx-light libnginx-mod-stream", append(slices.Clone(nginx), example(t, "nginx/dns.conf"))},
		{"keepalived", "keepalived", []string{"--config-test", "--use-file=" + example(t, "keepalived/lvs.conf")}},
		{"promtool", "prometheus", []string{"check", "config", example(t, "prometheus/scrape.yml")}},
		{"promtool", "prometheus", []string{"check", "rules", example(t, "prometheus/rules.yml")}},
		{"promtool", "prometheus", []string{"test", "rules", example(t, "prometheus/rules_test.yml")}},
	} {
		out := lab.Output(t, n.Command(lab.Need(t, c.program, c.from), c.args...))
		if out != "" && c.program != "promtool" {
			t.Errorf("%s %q: %s", c.program, c.args, out)
		}
	}
}

func TestExamplesAreWhatTheMixinGenerates(t *testing.T) {
	lab.Real(t)
	jsonnet := lab.Need(t, "jsonnet", "jsonnet")
	for name, args := range map[string][]string{
		"prometheus/rules.yml": {"-S", example(t, "mixin/rules.jsonnet")},
		"grafana/pmcheck.json": {example(t, "mixin/dashboard.jsonnet")},
	} {
		diff := cmp.Diff(lab.Output(t, exec.Command(jsonnet, args...)), lab.Read(t, example(t, name)))
		if diff != "" {
			t.Errorf("%s is not what the mixin generates; run make mixin (-mixin +example)\n%s", name, diff)
		}
	}
}

// TestEachAlertHasTestsAndARunbook: the tests have each alert fire, with all that it says, and not fire.
func TestEachAlertHasTestsAndARunbook(t *testing.T) {
	fires := map[string]bool{}
	tests := lab.Read(t, example(t, "prometheus/rules_test.yml"))
	for _, c := range regexp.MustCompile(`alertname: (\w+),?\s+exp_alerts:( \[\])?`).FindAllStringSubmatch(tests, -1) {
		fires[c[1]+c[2]] = true
	}
	runbook := lab.Read(t, example(t, "prometheus/runbook.md"))
	rules := lab.Read(t, example(t, "prometheus/rules.yml"))
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	for _, alert := range alerts {
		if !fires[alert[1]] || !fires[alert[1]+" []"] {
			t.Errorf("rules_test.yml does not have %s both fire and not fire", alert[1])
		}
		if !strings.Contains(runbook, "\n## "+alert[1]+"\n") {
			t.Errorf("%s has no section in runbook.md", alert[1])
		}
	}
	if len(alerts) == 0 {
		t.Error("rules.yml has no alerts")
	}
}

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
