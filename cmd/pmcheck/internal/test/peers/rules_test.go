//go:build linux

package peers_test

import (
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestEachAlertHasTestsAndARunbook: the tests have each alert fire, with all that it says, and not fire.
func TestEachAlertHasTestsAndARunbook(t *testing.T) {
	var tests struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(lab.Read(t, example(t, "prometheus/rules_test.yml"))), &tests); err != nil {
		t.Fatal(err)
	}
	fires := map[bool]map[string]bool{true: {}, false: {}}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			fires[len(c.Expected) > 0][c.Alert] = true
		}
	}
	runbook := lab.Read(t, example(t, "prometheus/runbook.md"))
	rules := lab.Read(t, example(t, "prometheus/rules.yml"))
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	for _, alert := range alerts {
		if !fires[true][alert[1]] || !fires[false][alert[1]] {
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
