// Package metrics exports a Status to Prometheus. A scrape reads the current Status and
// asks Puppet Server nothing. scrape.go has the metrics.
package metrics

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

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

// Describe implements prometheus.Collector. It describes nothing, since a status decides which metrics there are.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch, map[string]bool{}}
	s.status(m.status(time.Now()))
	for code := range m.answers {
		for client := range clientKinds {
			if n := m.answers[code][client].Load(); n > 0 {
				s.send("pmcheck_answers_total", "Answers to checks by status code and kind of client: haproxy sends its "+
					"view of the master, other does not, socket is local.", float64(n),
					labels{"code", strconv.Itoa(code), "client", client.String()})
			}
		}
	}
}
