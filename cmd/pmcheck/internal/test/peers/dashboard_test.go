//go:build linux

package peers_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A dashboard is the part of Grafana's JSON model that the tests read.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct{ Type, Definition string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

// testDashboard evaluates every query of the dashboard as Grafana would.
func testDashboard(t *testing.T, p *prometheus, masters ...*lab.Demo) {
	mayBeEmpty := map[string]bool{ // no data in a healthy pool, or without deployed code
		"Code": true, "Versions of the code": true, "Checks that are not well": true, "Holds B": true,
		"Budget: masters out and allowed": true,
	}
	for _, m := range masters {
		keepAsking(t, m)
	}
	p.waitForData("count(pmcheck_balancer_state) == 20") // two masters, two balancers, five states
	var d dashboard
	if err := json.Unmarshal([]byte(lab.Read(t, example(t, "grafana/pmcheck.json"))), &d); err != nil {
		t.Fatal(err)
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			expr := substitute(target.Expr)
			result, err := p.query(expr)
			if err != nil {
				t.Errorf("%s: %v", panel.Title, err)
				continue
			}
			if len(result) == 0 && !mayBeEmpty[panel.Title] && !mayBeEmpty[panel.Title+" "+target.RefID] {
				t.Errorf("%s %s: no data for\n%s", panel.Title, target.RefID, expr)
			}
		}
	}
	for _, a := range d.Annotations.List {
		if _, err := p.query(substitute(a.Expr)); err != nil {
			t.Errorf("annotation %s: %v", a.Name, err)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		expr := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).ReplaceAllString(v.Definition, "count by ($2) ($1)")
		if result, err := p.query(substitute(expr)); err != nil || len(result) == 0 || len(result[0].Metric) == 0 {
			t.Errorf("%s: %v, %v; want values of the label", v.Definition, result, err)
		}
	}
	testValues(t, p, d)
}

// substitute replaces variables as Grafana does if "All" is selected.
func substitute(expr string) string {
	return strings.NewReplacer("$__rate_interval", "30s", "$pool", ".*", "$instance", ".*").Replace(expr)
}

// testValues checks the most prominent numbers while one of two masters is drained.
func testValues(t *testing.T, p *prometheus, d dashboard) {
	want := map[string]string{"Masters that serve": "1", "Masters that do not": "1", "Last server of a balancer": "0"}
	state := map[string]string{first + ":9200": "1", second + ":9200": "6"} // healthy, and drain
	for _, panel := range d.Panels {
		result, err := p.query(substitute(panel.Targets[0].Expr))
		if err != nil {
			t.Fatal(err)
		}
		if value, listed := want[panel.Title]; listed && (len(result) != 1 || result[0].Value[1] != value) {
			t.Errorf("%s shows %v, want %s", panel.Title, result, value)
		}
		if panel.Title != "Each master" {
			continue
		}
		for _, s := range result {
			if master := s.Metric["instance"]; s.Value[1] != state[master] {
				t.Errorf("%s is shown as %v, want %s", master, s.Value[1], state[master])
			}
		}
	}
}
