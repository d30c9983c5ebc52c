//go:build linux

package peers_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestExamplesAreWhatTheMixinGenerates(t *testing.T) {
	lab.Real(t)
	jsonnet := lab.Need(t, "jsonnet", "jsonnet")
	const fix = "; run make mixin (-mixin +example)\n%s"
	var wantRules, rules any
	generated := must(t, exec.Command(jsonnet, "-S", example(t, "mixin/rules.jsonnet")))
	if err := yaml.Unmarshal([]byte(generated), &wantRules); err != nil {
		t.Fatal(err)
	}
	decode(t, "prometheus/rules.yml", &rules)
	if diff := cmp.Diff(wantRules, rules); diff != "" {
		t.Errorf("rules.yml is not what the mixin generates"+fix, diff)
	}
	var wantDashboard, dashboard any
	generated = must(t, exec.Command(jsonnet, example(t, "mixin/dashboard.jsonnet")))
	if err := json.Unmarshal([]byte(generated), &wantDashboard); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lab.Read(t, example(t, "grafana/pmcheck.json"))), &dashboard); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantDashboard, dashboard); diff != "" {
		t.Errorf("pmcheck.json is not what the mixin generates"+fix, diff)
	}
}
