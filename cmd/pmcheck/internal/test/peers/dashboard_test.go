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

// testDashboard evaluates every query of the dashboard as Grafana would, while the second of two masters is drained.
func testDashboard(t *testing.T, p *prometheus, masters ...*lab.Demo) {
	shown := map[string]string{"Masters that serve": "1", "Masters that do not": "1", "Last server of a balancer": "0"}
	states := map[string]string{first + ":9200": "1", second + ":9200": "6"} // healthy, and drain
	// No data in a healthy pool, or without deployed code.
	mayBeEmpty := map[string]bool{
		"Code": true, "Versions of the code": true, "Checks that are not well": true, "Holds B": true,
		"Budget: masters out and allowed": true,
	}
	for _, m := range masters {
		keepAsking(t, m)
	}
	p.waitForData("count(pmcheck_balancer_state) == 20") // two masters, two balancers, five states
	var d dashboard
	lab.Must(t, json.Unmarshal([]byte(lab.Read(t, example(t, "grafana/pmcheck.json"))), &d))
	for _, panel := range d.Panels {
		for i, target := range panel.Targets {
			expr := substitute(target.Expr)
			result, err := p.query(expr)
			if err != nil {
				t.Errorf("%s: %v", panel.Title, err)
				continue
			}
			if len(result) == 0 && !mayBeEmpty[panel.Title] && !mayBeEmpty[panel.Title+" "+target.RefID] {
				t.Errorf("%s %s: no data for\n%s", panel.Title, target.RefID, expr)
			}
			want, listed := shown[panel.Title]
			if listed && i == 0 && (len(result) != 1 || result[0].Value[1] != want) {
				t.Errorf("%s shows %v, want %s", panel.Title, result, want)
			}
			for _, s := range result {
				if want := states[s.Metric["instance"]]; panel.Title == "Each master" && i == 0 && s.Value[1] != want {
					t.Errorf("%s is shown as %v, want %s", s.Metric["instance"], s.Value[1], want)
				}
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
}

// substitute replaces variables as Grafana does if "All" is selected.
func substitute(expr string) string {
	values := strings.NewReplacer("$__rate_interval", "30s", "$job", "pmcheck", "$pool", ".*", "$instance", ".*")
	return values.Replace(expr)
}
