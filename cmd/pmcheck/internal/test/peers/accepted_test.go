//go:build linux

package peers_test

import (
	"os/exec"
	"path/filepath"
	"slices"
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
