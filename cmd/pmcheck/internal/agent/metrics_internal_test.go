package agent

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestMetricsAreWellNamed(t *testing.T) {
	c := config.Default()
	c.Holds.Persistent = filepath.Join(t.TempDir(), "holds")
	a := New(c, "", "test", slog.New(slog.DiscardHandler))
	a.answers[503][clientHAProxy].Add(1)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(a))
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
