//go:build linux

package peers_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// ruleFile is the part of rules.yml that the tests read.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert string
			Labels        map[string]string
			Annotations   map[string]string
		}
	}
}

// ruleTests is the part of rules_test.yml that the tests read.
type ruleTests struct {
	Tests []struct {
		Cases []struct {
			Alert    string `yaml:"alertname"`
			Expected []struct {
				Labels map[string]string `yaml:"exp_labels"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// An expectation is an alert with a severity. An empty severity means that the alert does
// not fire.
type expectation struct{ alert, severity string }

func TestAlertsPassTheirTests(t *testing.T) {
	lab.Real(t)
	promtool := lab.Need(t, "promtool", "prometheus")
	must(t, exec.Command(promtool, "check", "config", example(t, "prometheus/scrape.yml")))
	must(t, exec.Command(promtool, "check", "rules", example(t, "prometheus/rules.yml")))
	must(t, exec.Command(promtool, "test", "rules", example(t, "prometheus/rules_test.yml")))
}

func TestEachAlertHasTestsAndARunbook(t *testing.T) {
	var rules ruleFile
	decode(t, "prometheus/rules.yml", &rules)
	expected := expectations(t)
	runbook := strings.Split(lab.Read(t, example(t, "prometheus/runbook.md")), "\n")
	const home = "https://github.com/pmcheck/pmcheck/blob/main/examples/prometheus/runbook.md#"
	alerts := 0
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			alerts++
			for _, want := range []expectation{{r.Alert, r.Labels["severity"]}, {r.Alert, ""}} {
				if !expected[want] {
					t.Errorf("rules_test.yml has no test that expects %+v", want)
				}
			}
			if want := home + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if !slices.Contains(runbook, "## "+r.Alert) {
				t.Errorf("runbook.md has no section %s", r.Alert)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a summary or a description", r.Alert)
			}
		}
	}
	if alerts == 0 {
		t.Error("rules.yml has no alerts")
	}
}

// expectations returns all expectations in rules_test.yml.
func expectations(t *testing.T) map[expectation]bool {
	t.Helper()
	var tests ruleTests
	decode(t, "prometheus/rules_test.yml", &tests)
	list := map[expectation]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			if len(c.Expected) == 0 {
				list[expectation{c.Alert, ""}] = true
			}
			for _, e := range c.Expected {
				list[expectation{c.Alert, e.Labels["severity"]}] = true
			}
		}
	}
	return list
}

// decode reads a YAML file in examples.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(lab.Read(t, example(t, name))), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
