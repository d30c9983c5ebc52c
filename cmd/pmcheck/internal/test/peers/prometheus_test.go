//go:build linux

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
	config := lab.Read(t, example(t, "prometheus/scrape.yml"))
	faster := strings.ReplaceAll(config, " 15s\n", " 1s\n")
	if faster == config {
		t.Fatal("scrape.yml has no interval of 15s any more")
	}
	lab.Write(t, filepath.Join(dir, "prometheus.yml"), faster)
	lab.Write(t, filepath.Join(dir, "rules.yml"), lab.Read(t, example(t, "prometheus/rules.yml")))
	lab.StartProgram(t, n.Command(program, append(flags, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)...))
	return &prometheus{t: t, net: n, address: address}
}

// ask sends a request to the API and decodes the data in the answer.
func (p *prometheus) ask(path string, data any) error {
	_, body, err := p.net.Get("http://" + p.address + "/api/v1/" + path)
	if err != nil {
		return err
	}
	var answer struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return fmt.Errorf("%s: %w in %q", path, err, body)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// A sample is one element of the answer to a query.
type sample struct {
	Metric map[string]string
	Value  [2]any // time and value
}

// query evaluates an expression now.
func (p *prometheus) query(expr string) ([]sample, error) {
	var data struct{ Result []sample }
	err := p.ask("query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// waitForData queries until the result is not empty.
func (p *prometheus) waitForData(expr string) []sample {
	p.t.Helper()
	var result []sample
	lab.WaitFor(p.t, time.Minute, 200*time.Millisecond, func() (err error) {
		if result, err = p.query(expr); err == nil && len(result) == 0 {
			err = fmt.Errorf("no data for %s", expr)
		}
		return err
	})
	return result
}

// TestRulesAndDashboardWorkInPrometheus: Prometheus scrapes a pool of two masters, one of
// them drained, with balancers that ask both.
func TestRulesAndDashboardWorkInPrometheus(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second)
	one, two := lab.StartDemo(t, n, first), lab.StartDemo(t, n, second)
	two.Type("drain", "drain")
	one.WaitBody(serving)
	classic := startPrometheus(t, n, "127.0.0.1:9090")
	native := startPrometheus(t, n, "127.0.0.1:9091", "--enable-feature=native-histograms")
	for _, p := range []*prometheus{classic, native} {
		p.waitForData(`count_over_time(pmcheck_serving{instance="192.0.2.12:9200"}[1m]) > 2`)
	}
	t.Run("rules", classic.testRules)
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, classic, one, two) })
	t.Run("native histogram", native.testNativeHistogram)
}

// testRules tests that each rule can be evaluated, and that the recording rules have values.
func (p *prometheus) testRules(t *testing.T) {
	var serving []sample
	lab.WaitFor(t, time.Minute, 200*time.Millisecond, func() (err error) {
		serving, err = p.query(`pool:pmcheck_serving:sum{pool="production"} == 1 and pool:pmcheck_masters:count == 2`)
		if err == nil && len(serving) != 1 {
			err = errors.New("the rules do not show that one of two masters serves")
		}
		return err
	})
	p.waitForData("instance:pmcheck_probe_duration_seconds:p99")
	p.waitForData("instance:pmcheck_jruby_utilization:ratio")
	lab.WaitFor(t, 30*time.Second, 100*time.Millisecond, p.rulesHealth)
}

// rulesHealth returns an error unless every rule has been evaluated without an error. Groups
// are evaluated at different times.
func (p *prometheus) rulesHealth() error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.ask("rules", &data); err != nil {
		return err
	}
	var unhealthy error
	for _, group := range data.Groups {
		for _, r := range group.Rules {
			if r.Health != "ok" {
				unhealthy = errors.Join(unhealthy, fmt.Errorf("%s: %s %s", r.Name, r.Health, r.LastError))
			}
		}
	}
	if len(data.Groups) == 0 {
		return errors.New("no rules")
	}
	return unhealthy
}

// testNativeHistogram tests that a Prometheus that scrapes protobuf gets the native
// histogram, and that the recording rule for the latency works with it.
func (p *prometheus) testNativeHistogram(t *testing.T) {
	p.waitForData(`histogram_count(pmcheck_probe_duration_seconds) > 0`)
	if buckets, err := p.query("pmcheck_probe_duration_seconds_bucket"); err != nil || len(buckets) > 0 {
		t.Errorf("%d classic buckets, %v; want only the native histogram", len(buckets), err)
	}
	p.waitForData("instance:pmcheck_probe_duration_seconds:p99 > 0")
}

// view returns the header that HAProxy sends with http-check send-state.
func view(node string) http.Header {
	return http.Header{"X-Haproxy-Server-State": {
		"UP; address=192.0.2.11; port=8140; name=puppet/m1; node=" + node + "; weight=1/2; scur=2/4; qcur=0"}}
}

// keepAsking sends requests from balancers with these names once a second until the test
// ends.
func keepAsking(t *testing.T, d *lab.Demo, nodes ...string) {
	t.Helper()
	ask := func() error {
		for _, node := range nodes {
			if code, body, err := d.Get("/", view(node)); err != nil ||
				code != http.StatusOK && code != http.StatusServiceUnavailable {
				return fmt.Errorf("%d %q, %v", code, body, err)
			}
		}
		return nil
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for tick := time.Tick(time.Second); t.Context().Err() == nil; {
			select {
			case <-tick:
				ask() // errors are expected once the demo is stopped
			case <-t.Context().Done():
			}
		}
	}()
}
