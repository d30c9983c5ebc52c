//go:build linux

package peers_test

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestExamplesAreWhatTheMixinGenerates(t *testing.T) {
	lab.Real(t)
	jsonnet := lab.Need(t, "jsonnet", "jsonnet")
	for name, args := range map[string][]string{
		"prometheus/rules.yml": {"-S", example(t, "mixin/rules.jsonnet")},
		"grafana/pmcheck.json": {example(t, "mixin/dashboard.jsonnet")},
	} {
		if diff := cmp.Diff(lab.Output(t, exec.Command(jsonnet, args...)), lab.Read(t, example(t, name))); diff != "" {
			t.Errorf("%s is not what the mixin generates; run make mixin (-mixin +example)\n%s", name, diff)
		}
	}
}
