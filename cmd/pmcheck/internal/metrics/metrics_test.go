package metrics

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestScrapesPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := New(func(now time.Time) status.Status { return status.Status{Time: now} }, slog.New(slog.DiscardHandler))
		for range 5 {
			if _, err := testutil.GatherAndCount(m.registry); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 4*collectEvery {
			t.Errorf("five scrapes took %s, want %s", took, 4*collectEvery)
		}
	})
}

// TestFullStatusHasTheMetricsOfTheManual: and they pass the linter of promtool.
func TestFullStatusHasTheMetricsOfTheManual(t *testing.T) {
	now := time.Now()
	m := New(func(time.Time) status.Status {
		return status.Status{
			Time: now,
			Services: []status.ServiceStatus{{
				Name:    "server",
				Verdict: check.Verdict{Checked: now},
				Checks: []check.Finding{{
					Check: check.CheckJRuby,
					Pool:  &check.Pool{Size: 1},
					Code:  []check.Environment{{Name: "production", ID: "0a"}, {Name: "testing", Unknown: "late"}},
				}},
			}},
			Probe: status.ProbeStatus{
				ExpiryWarn: 3600,
				Expiries:   []check.Expiry{{Of: "ca", Name: "Puppet CA", Serial: "1", Until: now}, {Of: "crl", Name: "Puppet CA"}},
			},
			Silent: []status.Balancer{{Node: "lb2\xff", Service: "server"}},
			Holds: []drain.Hold{
				{Holder: "upgrade", Since: now, Until: now},
				{Holder: "upgrade", Since: now, Until: now},
			},
			Budget: &status.BudgetStatus{Pool: "puppet", Since: now},
			Gate:   &status.GateStatus{Since: now, Looked: now},
			Balancers: []status.Balancer{
				{Node: "lb1", View: &status.View{State: "UP", Weight: 1, WeightTotal: 2}},
				{Service: "server", Codes: answer.Codes{Drain: 404}},
				{Service: "server", Codes: answer.Codes{Drain: 503}},
			},
		}
	}, slog.New(slog.DiscardHandler))
	m.Answered(200)
	m.Probed("server", time.Millisecond)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(m.registry, "pmcheck_verdict", "pmcheck_answers_total"); n != 7 || err != nil {
		t.Errorf("%d series, %v; want five verdicts and two codes", n, err)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "pmcheck_") {
			got = append(got, f.GetName())
		}
		if margin := f.GetMetric()[0].GetGauge().GetValue(); strings.Contains(f.GetName(), "margin") && margin != 3600 {
			t.Errorf("a margin of %g s beside expiry.warn", margin)
		}
	}
	if most := 40; len(got) > most {
		t.Errorf("%d metrics, want at most %d", len(got), most)
	}
	if end := seconds(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)); end < 2.5e11 {
		t.Errorf("a certificate that is valid until 9999 expires at %g", end)
	}
	if half := seconds(time.UnixMilli(1500)); half != 1.5 {
		t.Errorf("1500 ms are %g s", half)
	}
	if diff := cmp.Diff(inManual(t), got); diff != "" {
		t.Errorf("(-pmcheck(8) +program)\n%s", diff)
	}
}

func TestAnswersAreCountedFromZero(t *testing.T) {
	m := New(func(time.Time) status.Status { return status.Status{} }, slog.New(slog.DiscardHandler))
	want := `
		# HELP pmcheck_answers_total Answers to checks by status code.
		# TYPE pmcheck_answers_total counter
		pmcheck_answers_total{code="200"} 0
		pmcheck_answers_total{code="503"} 0
	`
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), "pmcheck_answers_total"); err != nil {
		t.Error(err)
	}
}

func TestAnErrorIsLoggedAndCostsNoOtherMetric(t *testing.T) {
	var log strings.Builder
	m := New(func(time.Time) status.Status { return status.Status{} }, slog.New(slog.NewTextHandler(&log, nil)))
	m.registry.MustRegister(broken{})

	response := httptest.NewRecorder()
	m.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))

	body := response.Body.String()
	for _, series := range []string{`pmcheck_answers_total{code="200"} 0`, "pmcheck_config_last_reload_successful 1"} {
		if !strings.Contains(body, series) {
			t.Errorf("%d without %s", response.Code, series)
		}
	}
	if response.Code != http.StatusOK || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the answer is %d, the log %q", response.Code, &log)
	}
}

// broken collects a metric with an invalid name.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(ch chan<- prometheus.Metric) {
	scrape{ch, map[string]bool{}}.send("pmcheck_\xff", "Broken.", 1, nil)
}

func inManual(t *testing.T) (names []string) {
	page, err := os.ReadFile("../../../../packaging/man/pmcheck.8")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n.Sh METRICS\n")
	section, _, _ = strings.Cut(section, "\n.Sh ")
	for _, item := range regexp.MustCompile(`(?m)^\.It Va (\S+)`).FindAllStringSubmatch(section, -1) {
		names = append(names, item[1])
	}
	slices.Sort(names)
	return names
}
