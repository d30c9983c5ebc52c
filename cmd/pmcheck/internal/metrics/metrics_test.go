package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

func TestMetricsAreWellNamed(t *testing.T) {
	m := New(func(now time.Time) api.Status {
		return api.Status{Time: now, Services: []api.ServiceStatus{{Name: "server"}}}
	})
	m.Answered(503, HAProxy)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(registry, "pmcheck_verdict", "pmcheck_answers_total"); n != 6 || err != nil {
		t.Errorf("%d series, %v; want five verdicts and one code", n, err)
	}
}
