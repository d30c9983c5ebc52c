//go:build linux

package peers_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestEachAlertHasTestsAndARunbook: the tests have each alert fire, and not fire.
func TestEachAlertHasTestsAndARunbook(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert               string
				Labels, Annotations map[string]string
			}
		}
	}
	decode(t, "prometheus/rules.yml", &rules)
	var tests struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	decode(t, "prometheus/rules_test.yml", &tests)
	fires := map[string]map[bool]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			if fires[c.Alert] == nil {
				fires[c.Alert] = map[bool]bool{}
			}
			fires[c.Alert][len(c.Expected) > 0] = true
		}
	}
	runbook := lab.Read(t, example(t, "prometheus/runbook.md"))
	const home = "https://github.com/pmcheck/pmcheck/blob/main/examples/prometheus/runbook.md#"
	alerts := 0
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			alerts++
			if len(fires[r.Alert]) != 2 {
				t.Errorf("rules_test.yml does not have %s both fire and not fire", r.Alert)
			}
			if r.Annotations["runbook_url"] != home+strings.ToLower(r.Alert) ||
				!strings.Contains(runbook, "\n## "+r.Alert+"\n") {
				t.Errorf("%s has no section in runbook.md, or no link to it", r.Alert)
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
			}
		}
	}
	if alerts == 0 {
		t.Error("rules.yml has no alerts")
	}
}

// decode reads a YAML file in examples.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(lab.Read(t, example(t, name))), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
