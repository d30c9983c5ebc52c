//go:build linux

package peers_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

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
