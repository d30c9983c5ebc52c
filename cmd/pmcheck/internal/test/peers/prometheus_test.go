package peers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A prometheus is a running Prometheus that scrapes and evaluates as in the examples, but
// more often.
type prometheus struct {
	t       *testing.T
	net     *lab.Network
	address string
}

func startPrometheus(t *testing.T, n *lab.Network, address string, flags ...string) *prometheus {
	t.Helper()
	program := lab.Need(t, "prometheus", "prometheus")
	dir := t.TempDir()
	faster := strings.ReplaceAll(lab.Read(t, example(t, "prometheus/scrape.yml")), " 15s\n", " 1s\n")
	lab.Write(t, filepath.Join(dir, "prometheus.yml"), faster)
	often := strings.ReplaceAll(lab.Read(t, example(t, "prometheus/rules.yml")), "interval: 2m\n", "interval: 1s\n")
	lab.Write(t, filepath.Join(dir, "rules.yml"), often)
	lab.StartProgram(t, n.Command(program, append(flags, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)...))
	return &prometheus{t: t, net: n, address: address}
}

type sample struct {
	Metric map[string]string
	Value  [2]any // time and value
}

func (p *prometheus) query(expr string) ([]sample, error) {
	_, body, err := p.net.Get("http://" + p.address + "/api/v1/query?query=" + url.QueryEscape(expr))
	var answer struct {
		Error string
		Data  struct{ Result []sample }
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &answer)
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer.Data.Result, err
}

func (p *prometheus) waitForData(expr string) {
	p.t.Helper()
	lab.WaitFor(p.t, time.Minute, 200*time.Millisecond, func() error {
		result, err := p.query(expr)
		if err == nil && len(result) == 0 {
			err = fmt.Errorf("no data for %s", expr)
		}
		return err
	})
}

// TestRulesAndDashboardWorkInPrometheus: Prometheus scrapes a pool of two masters, one of
// them drained, with balancers that ask both.
func TestRulesAndDashboardWorkInPrometheus(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second)
	one, two := lab.StartDemo(t, n, first), lab.StartDemo(t, n, second)
	two.Type("drain", "drain")
	one.WaitServing(30 * time.Second)
	classic := startPrometheus(t, n, "127.0.0.1:9090")
	native := startPrometheus(t, n, "127.0.0.1:9091", "--enable-feature=native-histograms")
	for _, p := range []*prometheus{classic, native} {
		p.waitForData(`count_over_time(pmcheck_serving{instance="192.0.2.12:9200"}[1m]) > 2`)
	}
	t.Run("rules", classic.testRules)
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, classic, one, two) })
	t.Run("native histogram", native.testNativeHistogram)
}

// testRules tests that the recording rules have values, and that each rule can be evaluated. Groups are evaluated at
// different times.
func (p *prometheus) testRules(t *testing.T) {
	p.waitForData(`pool:pmcheck_serving:sum{pool="production"} == 1 and pool:pmcheck_masters:count == 2`)
	p.waitForData("instance:pmcheck_jruby_utilization:ratio")
	waitFor(t, func() error {
		_, body, err := p.net.Get("http://" + p.address + "/api/v1/rules")
		rules, well := strings.Count(body, `"health":`), strings.Count(body, `"health":"ok"`)
		if err == nil && (well == 0 || well < rules) {
			err = fmt.Errorf("%d of %d rules are well: %s", well, rules, body)
		}
		return err
	})
}

// testNativeHistogram tests that a Prometheus that scrapes protobuf gets the native histogram, and that the dashboard's
// second query for the latency works with it.
func (p *prometheus) testNativeHistogram(t *testing.T) {
	p.waitForData(`histogram_count(pmcheck_probe_duration_seconds) > 0`)
	if buckets, err := p.query("pmcheck_probe_duration_seconds_bucket"); err != nil || len(buckets) > 0 {
		t.Errorf("%d classic buckets, %v; want only the native histogram", len(buckets), err)
	}
	p.waitForData("histogram_quantile(0.99, sum by (instance) (rate(pmcheck_probe_duration_seconds[30s]))) > 0")
}

// keepAsking has two balancers ask a demo once a second until the test ends. HAProxy sends their headers with
// http-check send-state.
func keepAsking(t *testing.T, d *lab.Demo) {
	t.Helper()
	lab.StartRecord(t, time.Second, func() string {
		for _, node := range []string{"lb1", "lb2"} {
			d.Get("/", http.Header{"X-Haproxy-Server-State": {
				"UP; address=192.0.2.11; port=8140; name=puppet/m1; node=" + node + "; weight=1/2; scur=2/4; qcur=0"}})
		}
		return ""
	})
}
