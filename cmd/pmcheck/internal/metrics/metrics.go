// Package metrics exports a Status to Prometheus. A scrape reads the current Status and
// asks Puppet Server nothing. scrape.go has the metrics.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// Metrics are the daemon's metrics. They are safe for concurrent use.
type Metrics struct {
	http.Handler // serves them and the metrics of the Go runtime and of the process

	registry *prometheus.Registry
	probes   *prometheus.HistogramVec
	answers  *prometheus.CounterVec
	status   func(now time.Time) status.Status
}

// New returns metrics that read the status from a function at each scrape.
func New(st func(now time.Time) status.Status) *Metrics {
	m := &Metrics{status: st}
	m.probes = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            "pmcheck_probe_duration_seconds",
		Help:                            "How long probes took.",
		Buckets:                         []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"service"})
	m.answers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pmcheck_answers_total",
		Help: "Answers to checks by status code and kind of client: haproxy sends its view of the master, " +
			"other does not, socket is local.",
	}, []string{"code", "client"})
	m.registry = prometheus.NewRegistry()
	m.registry.MustRegister(m, m.probes, m.answers, version.NewCollector("pmcheck"), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
	return m
}

// Probed notes how long a probe of a service took.
func (m *Metrics) Probed(service string, took time.Duration) {
	m.probes.WithLabelValues(service).Observe(took.Seconds())
}

// Answered counts an answer to a check. client is haproxy, other or socket.
func (m *Metrics) Answered(code int, client string) {
	m.answers.WithLabelValues(strconv.Itoa(code), client).Inc()
}

// Describe implements prometheus.Collector. It describes nothing, since a status decides which metrics there are.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	scrape{ch, map[string]bool{}}.status(m.status(time.Now()))
}
