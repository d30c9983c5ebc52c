// Package metrics exports a Status to Prometheus. A scrape reads the current Status and
// asks Puppet Server nothing. rows.go lists the metrics, scrape.go fills them.
package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// probeDuration is the histogram of how long probes took.
const probeDuration = "pmcheck_probe_duration_seconds"

// Client is a kind of client: a label of the metric for answers.
type Client int

// The kinds of clients.
const (
	HAProxy     Client = iota // sends its view of the master
	Other                     // any other client on a TCP port
	Socket                    // on the unix socket
	clientKinds               // how many there are
)

func (c Client) String() string { return [...]string{"haproxy", "other", "socket"}[c] }

// Metrics are the daemon's metrics. They are safe for concurrent use.
type Metrics struct {
	http.Handler // serves them and the metrics of the Go runtime and of the process

	registry *prometheus.Registry
	probes   *prometheus.HistogramVec
	answers  [600][clientKinds]atomic.Int64 // by status code
	rows     map[string]row                 // by name, without the prefix
	status   func(now time.Time) status.Status
}

// New returns metrics that read the status from a function at each scrape.
func New(st func(now time.Time) status.Status) *Metrics {
	m := &Metrics{rows: map[string]row{}, status: st}
	for _, r := range rows() {
		m.rows[r.name] = r
	}
	m.probes = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            probeDuration,
		Help:                            "How long probes took.",
		Buckets:                         []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"service"})
	m.registry = prometheus.NewRegistry()
	m.registry.MustRegister(m, m.probes, version.NewCollector("pmcheck"), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
	return m
}

// Probed notes how long a probe of a service took.
func (m *Metrics) Probed(service string, took time.Duration) {
	m.probes.WithLabelValues(service).Observe(took.Seconds())
}

// Answered counts an answer to a check; code must be below 600.
func (m *Metrics) Answered(code int, client Client) { m.answers[code][client].Add(1) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, r := range m.rows {
		ch <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	send := sender(func(name string, value float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "?") // names come from disk and from clients
		}
		r := m.rows[name]
		ch <- prometheus.MustNewConstMetric(r.desc, r.kind, value, labels...)
	})
	send.status(m.status(time.Now()))
	for code := range m.answers {
		for client := range clientKinds {
			if n := m.answers[code][client].Load(); n > 0 {
				send("answers_total", float64(n), strconv.Itoa(code), client.String())
			}
		}
	}
}
