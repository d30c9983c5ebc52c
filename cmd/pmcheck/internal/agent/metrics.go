package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A metric is described once; the manual's list is compared with these.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// metrics are those that are read off the status at each scrape.
type metrics struct {
	build, started, reloaded, reloadTime metric

	verdict, verdictSince, reason, mode, serving metric
	answers                                      metric

	probes, probeTime, certificate, crl metric

	check, checkReason, checkTime                                           metric
	poolSize, poolFree, poolBorrowed, poolWaiting, poolOldest               metric
	poolBorrows, poolTimeouts, poolLimitHits                                metric
	code, codeTime                                                          metric
	hold, holdSince, holdEnd                                                metric
	balancer, balancerTime, balancerState, balancerWeight, balancerSessions metric
}

// describe fills in the metrics and returns their descriptions.
func (m *metrics) describe() []*prometheus.Desc {
	var all []*prometheus.Desc
	define := func(into *metric, kind prometheus.ValueType, name, help string, labels ...string) {
		*into = metric{prometheus.NewDesc("pmcheck_"+name, help, labels, nil), kind}
		all = append(all, into.desc)
	}
	gauge := func(into *metric, name, help string, labels ...string) {
		define(into, prometheus.GaugeValue, name, help, labels...)
	}
	counter := func(into *metric, name, help string, labels ...string) {
		define(into, prometheus.CounterValue, name, help, labels...)
	}
	gauge(&m.build, "build_info", "Always 1; the version is a label.", "version")
	gauge(&m.started, "start_timestamp_seconds", "When the daemon started.")
	gauge(&m.reloaded, "config_reload_successful", "1 if the configuration in use is the newest there is.")
	gauge(&m.reloadTime, "config_loaded_timestamp_seconds", "When the configuration in use was read.")

	gauge(&m.verdict, "verdict", "1 for the verdict on the service, 0 for the others.", "service", "verdict")
	gauge(&m.verdictSince, "verdict_since_timestamp_seconds", "When verdict and reason became what they are.", "service")
	gauge(&m.reason, "verdict_reason_info", "Always 1; the reason of the verdict is a label.", "service", "reason")
	gauge(&m.mode, "mode", "1 for the mode of the service, 0 for the others.", "service", "mode")
	gauge(&m.serving, "serving", "1 while balancers are told to use the service.", "service")
	counter(&m.answers, "answers_total", "Answers to checks by status code and kind of client: haproxy tells its view of us, other does not, socket is local.", "code", "client")

	counter(&m.probes, "probes_total", "Probes since the start.", "service")
	gauge(&m.probeTime, "probe_timestamp_seconds", "When the last probe began.", "service")
	gauge(&m.certificate, "certificate_expiry_timestamp_seconds", "When a certificate expires: own is ours, server is the master's, ca is in the CA bundle.", "certificate", "subject", "serial")
	gauge(&m.crl, "crl_expiry_timestamp_seconds", "When a CRL in use expires; number is its place in the file.", "issuer", "number")

	gauge(&m.check, "check_state", "1 for the state of the check, 0 for the others.", "check", "severity", "state")
	gauge(&m.checkReason, "check_reason_info", "Always 1; the reason for the state of the check is a label, stale if the check is stuck.", "check", "reason")
	gauge(&m.checkTime, "check_timestamp_seconds", "When the check was last made; for unit, when systemd last told of a change.", "check")
	gauge(&m.poolSize, "jruby_instances", "How many JRuby instances there are to be.")
	gauge(&m.poolFree, "jruby_free_instances", "JRuby instances that wait for work.")
	gauge(&m.poolBorrowed, "jruby_borrowed_instances", "JRuby instances at work.")
	gauge(&m.poolWaiting, "jruby_waiting_requests", "Requests that wait for a JRuby instance.")
	gauge(&m.poolOldest, "jruby_oldest_loan_seconds", "For how long the oldest of the instances at work has been.")
	counter(&m.poolBorrows, "jruby_borrows_total", "Loans of JRuby instances since Puppet Server started.")
	counter(&m.poolTimeouts, "jruby_borrow_timeouts_total", "Requests that gave up waiting for a JRuby instance since Puppet Server started.")
	counter(&m.poolLimitHits, "jruby_queue_limit_hits_total", "Requests turned away at max-queued-requests since Puppet Server started.")
	gauge(&m.code, "code_info", "Always 1; the same id is the same code, reason is ok, or what is wrong with its deployment.", "environment", "id", "reason")
	gauge(&m.codeTime, "code_deployed_timestamp_seconds", "When the deployment of an environment was finished.", "environment")
	gauge(&m.hold, "hold_info", "Always 1, for each hold in effect; an empty service is every service.", "holder", "service", "mode")
	gauge(&m.holdSince, "hold_since_timestamp_seconds", "When a hold was set.", "holder", "service")
	gauge(&m.holdEnd, "hold_end_timestamp_seconds", "When a hold ends by itself; absent if it never does.", "holder", "service")

	by := []string{"balancer", "source", "server", "service"}
	gauge(&m.balancer, "balancer_answer_code", "What a balancer was told last.", by...)
	gauge(&m.balancerTime, "balancer_check_timestamp_seconds", "When a balancer asked last.", by...)
	gauge(&m.balancerState, "balancer_state", "1 for the state that a balancer has us in, 0 for the others.", append(by, "state")...)
	gauge(&m.balancerWeight, "balancer_weight_ratio", "Our share of the weight of all servers of a balancer.", by...)
	gauge(&m.balancerSessions, "balancer_sessions", "Sessions that a balancer has with us.", by...)
	return all
}

// newProbeSeconds makes the histogram of how long probes take: native, and
// with buckets for those who scrape the classic form.
func newProbeSeconds() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            "pmcheck_probe_duration_seconds",
		Help:                            "How long probes took.",
		Buckets:                         []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"service"})
}

// metricsHandler serves the agent's metrics, and those of the Go runtime and
// the process. A scrape reads the state of the moment: it asks Puppet Server
// nothing.
func metricsHandler(a *Agent) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(a), a.probeSeconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
}
