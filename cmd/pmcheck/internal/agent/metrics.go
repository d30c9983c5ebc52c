package agent

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// collector shows the status as metrics. A scrape reads the state of the
// moment; it asks Puppet Server nothing.
type collector struct {
	agent *Agent

	verdict, mode, serving, answers, probes, probeTime, probeTook *prometheus.Desc
	certificate, crl, reloaded, build                             *prometheus.Desc
}

func newCollector(a *Agent) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pmcheck_"+name, help, labels, nil)
	}
	return &collector{
		agent:       a,
		verdict:     desc("verdict", "1 for the verdict that the service has, 0 for the others.", "service", "verdict"),
		mode:        desc("mode", "1 for the mode that the service is in, 0 for the others.", "service", "mode"),
		serving:     desc("serving", "1 while balancers are told to use the service.", "service"),
		answers:     desc("answers_total", "Answers on all listeners, by status code.", "code"),
		probes:      desc("probes_total", "Probes of the master since the start."),
		probeTime:   desc("probe_timestamp_seconds", "When the last probe began."),
		probeTook:   desc("probe_duration_seconds", "How long the last probe took."),
		certificate: desc("certificate_expiry_timestamp_seconds", "When a certificate of the last probe expires; own is ours, server is the master's.", "certificate"),
		crl:         desc("crl_expiry_timestamp_seconds", "When a CRL in use expires; number is its place in the file.", "issuer", "number"),
		reloaded:    desc("config_reload_successful", "1 if the configuration in use is the newest one there is."),
		build:       desc("build_info", "Always 1; the version is a label.", "version"),
	}
}

// metricsHandler serves the agent's metrics, and those of the Go runtime and
// the process.
func metricsHandler(a *Agent) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(a), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.verdict, c.mode, c.serving, c.answers, c.probes, c.probeTime,
		c.probeTook, c.certificate, c.crl, c.reloaded, c.build} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	status := c.agent.Status(time.Now())
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range status.Services {
		for _, h := range []check.Health{check.Healthy, check.Busy, check.Warming, check.Unhealthy, check.Unknown} {
			gauge(c.verdict, truth(s.Verdict.Health == h), s.Name, string(h))
		}
		for _, m := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
			gauge(c.mode, truth(s.Mode == m), s.Name, string(m))
		}
		gauge(c.serving, truth(s.Answer.Code == http.StatusOK), s.Name)
	}
	for code := range c.agent.answers {
		if n := c.agent.answers[code].Load(); n > 0 {
			ch <- prometheus.MustNewConstMetric(c.answers, prometheus.CounterValue, float64(n), strconv.Itoa(code))
		}
	}
	ch <- prometheus.MustNewConstMetric(c.probes, prometheus.CounterValue, float64(status.Probe.Count))
	if status.Probe.Count > 0 {
		gauge(c.probeTime, seconds(status.Probe.Asked))
		gauge(c.probeTook, status.Probe.Took)
	}
	if own := status.Probe.Own; own != nil {
		gauge(c.certificate, seconds(own.NotAfter), "own")
	}
	if t := status.Probe.TLS; t != nil {
		gauge(c.certificate, seconds(t.Server.NotAfter), "server")
	}
	for i, crl := range status.Probe.CRLs {
		gauge(c.crl, seconds(crl.Expires), crl.Issuer, strconv.Itoa(i))
	}
	gauge(c.reloaded, truth(status.Config.Error == ""))
	gauge(c.build, 1, status.Version)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
