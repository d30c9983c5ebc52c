//go:build linux

package peers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// Every series that the mixin asks for has the selector of a site, and its severities.
func TestMixinTakesASelector(t *testing.T) {
	lab.Real(t)
	jsonnet := lab.Need(t, "jsonnet", "jsonnet")
	promtool := lab.Need(t, "promtool", "prometheus")
	const selector = `job="puppet",cluster="a"`
	generated := must(t, exec.Command(jsonnet, "-e", `
		local mixin = (import '`+example(t, "mixin/mixin.libsonnet")+`') + { _config+:: {
			selector: '`+selector+`', severities+: { now: 'page' },
		} };
		{
			rules: { groups: mixin.prometheusRules.groups + mixin.prometheusAlerts.groups },
			dashboards: mixin.grafanaDashboards,
		}`))
	var mixin struct {
		Rules      json.RawMessage
		Dashboards map[string]dashboard
	}
	if err := json.Unmarshal([]byte(generated), &mixin); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, mixin.Rules, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, exec.Command(promtool, "check", "rules", file)) // JSON is YAML
	if !strings.Contains(string(mixin.Rules), `"severity": "page"`) {
		t.Error("no alert has the severity that was set")
	}
	series := regexp.MustCompile(`\b(up|pmcheck_[a-z0-9_]+)\b(\{[^}]*\})?`)
	var exprs []string
	var rules struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	if err := json.Unmarshal(mixin.Rules, &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			exprs = append(exprs, regexp.MustCompile(`\w+:pmcheck_\w+:\w+`).ReplaceAllString(r.Expr, ""))
		}
	}
	for _, d := range mixin.Dashboards {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				exprs = append(exprs, target.Expr)
			}
		}
		for _, v := range d.Templating.List {
			exprs = append(exprs, v.Definition)
		}
	}
	found := 0
	for _, expr := range exprs {
		for _, s := range series.FindAllStringSubmatch(expr, -1) {
			found++
			if !strings.HasPrefix(s[2], "{"+selector) {
				t.Errorf("%s has not the selector %s", s[0], selector)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d series found", found)
	}
}
