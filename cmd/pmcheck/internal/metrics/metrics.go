// Package metrics exports a Status to Prometheus. A scrape reads the current Status and
// asks Puppet Server nothing.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Metrics are the daemon's metrics. They are safe for concurrent use.
type Metrics struct {
	http.Handler // serves them and the metrics of the Go runtime and of the process

	registry *prometheus.Registry
	probes   *prometheus.HistogramVec
	answers  *prometheus.CounterVec
	status   func(now time.Time) status.Status

	mu   sync.Mutex
	last time.Time // when they were collected
}

// collectEvery is the shortest time from one scrape to the next. A scrape takes milliseconds and up to a megabyte, more
// with each client that pretends to be a balancer. Balancers must not wait for a client that scrapes without a pause,
// and one that does not read what it gets keeps it for front's 10 s.
const collectEvery = 100 * time.Millisecond

// New returns metrics that read the status from a function at each scrape. What cannot be collected or sent is logged,
// and the rest is sent all the same.
func New(st func(now time.Time) status.Status, log *slog.Logger) *Metrics {
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
		Help: "Answers to checks by status code.",
	}, []string{"code"})
	// A rate needs a first value before the first answer. Others exist once a balancer has asked for them.
	for _, code := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		m.answers.WithLabelValues(strconv.Itoa(code))
	}

	m.registry = prometheus.NewRegistry()
	m.registry.MustRegister(m, m.probes, m.answers, version.NewCollector("pmcheck"), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 16,
		Timeout:             5 * time.Second,
	})
	return m
}

// Probed notes how long a probe of a service took.
func (m *Metrics) Probed(service drain.Service, took time.Duration) {
	m.probes.WithLabelValues(string(service)).Observe(took.Seconds())
}

// Answered counts an answer to a check.
func (m *Metrics) Answered(code int) { m.answers.WithLabelValues(strconv.Itoa(code)).Inc() }

// Describe implements prometheus.Collector. It describes nothing, since a status decides which metrics there are.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()

	time.Sleep(time.Until(m.last.Add(collectEvery)))
	m.last = time.Now()

	s := scrape{ch: ch, sent: map[string]bool{}}
	s.status(m.status(m.last))
}

// A scrape sends the samples of one status.
type scrape struct {
	ch   chan<- prometheus.Metric
	sent map[string]bool // by name and labels
}

// labels are the names of labels, each followed by its value.
type labels []string

// send sends a sample. Of samples with the same name and labels it sends the first: balancers on one address can
// differ in nothing but the codes that they chose, and a holder may have a hold in each directory.
func (s scrape) send(name, help string, value float64, by labels) {
	var names, values []string
	for i := 0; i < len(by); i += 2 {
		names = append(names, by[i])
		values = append(values, strings.ToValidUTF8(by[i+1], "?")) // from disk, and from clients
	}

	key := strings.Join(append(values, name), "\x00")
	if s.sent[key] {
		return
	}
	s.sent[key] = true

	kind := prometheus.GaugeValue
	if strings.HasSuffix(name, "_total") {
		kind = prometheus.CounterValue
	}

	desc := prometheus.NewDesc(name, help, names, nil)
	metric, err := prometheus.NewConstMetric(desc, kind, value, values...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(desc, err) // a panic here would end the daemon
	}
	s.ch <- metric
}

func (s scrape) status(st status.Status) {
	s.config(st.Config)
	s.refused(st.Refused)
	for _, e := range st.Probe.Expiries {
		s.expiry(e, status.Seconds(st.Probe.ExpiryWarn))
	}
	for _, v := range st.Services {
		s.service(v)
	}
	s.send("pmcheck_holds_readable", "1 if the holds on disk are known, 0 if a directory of theirs hangs, is missing or "+
		"was replaced.", truth(st.ReadsHolds()), nil)
	for _, h := range st.Holds {
		s.hold(h)
	}

	if st.Budget != nil {
		s.budget(*st.Budget)
	}
	if st.Gate.Runs(st.Time) {
		s.send("pmcheck_gate_closed", "1 while new connections to the master's port are refused, 0 while the gate is "+
			"open; absent while no gate runs.", truth(st.Gate.Closed), nil)
	}

	s.send("pmcheck_balancers_unlisted", "Balancers that send their view of this master, and that the setting "+
		"balancers does not list.", float64(len(st.Unlisted)), nil)
	for _, b := range st.Balancers {
		s.balancer(b)
	}
	for _, b := range st.Silent {
		b.View = nil // it is old
		s.balancer(b)
	}
}

func (s scrape) config(c status.ConfigStatus) {
	s.send("pmcheck_config_last_reload_successful", "1 if the last start or reload read pmcheck.yaml, 0 if an older "+
		"configuration is in use.", truth(c.Error == ""), nil)
	s.send("pmcheck_config_last_reload_success_timestamp_seconds", "When the configuration in use was read from "+
		"pmcheck.yaml.", seconds(c.Loaded), nil)
}

func (s scrape) refused(r status.Refused) {
	const name = "pmcheck_refused_connections_total"
	const help = "Clients that were refused: connections closed by allow or by the limit, and of clients that look like " +
		"balancers requests answered 400 or 405, and connections without a request."
	s.send(name, help, float64(r.Allow), labels{"by", "allow"})
	s.send(name, help, float64(r.Limit), labels{"by", "limit"})
	s.send(name, help, float64(r.Request), labels{"by", "request"})
	s.send(name, help, float64(r.Silence), labels{"by", "silence"})
}

func (s scrape) expiry(e check.Expiry, warn time.Duration) {
	by := labels{"certificate", e.Of, "subject", e.Name, "serial", e.Serial}
	s.send("pmcheck_certificate_expiry_timestamp_seconds", "When a certificate or CRL expires: own is pmcheck's, "+
		"server is the master's, ca is in the CA bundle; the subject of a crl is its issuer.", seconds(e.Until), by)
	s.send("pmcheck_certificate_expiry_margin_seconds", "How long before it expires it should be renewed: "+
		"expiry.warn, or a quarter of a lifetime below 120 days.", e.Margin(warn).Seconds(), by)
}

func (s scrape) budget(b status.BudgetStatus) {
	by := labels{"budget", b.Pool}
	s.send("pmcheck_budget_slots_out", "Masters of the pool that are out and count, as this one saw last.",
		float64(b.Out), by)
	s.send("pmcheck_budget_slots_allowed", "Masters of the pool that may be out, by this one's configuration.",
		float64(b.Allowed), by)
	s.send("pmcheck_budget_slots_forced", "Masters among those out that were too many when they left.",
		float64(b.Forced), by)
	s.send("pmcheck_budget_reachable", "1 if the database of the budget answered last.", truth(b.Reachable), by)
}

func (s scrape) service(v status.ServiceStatus) {
	by := labels{"service", string(v.Name)}
	for _, h := range []check.Health{check.Healthy, check.Busy, check.Warming, check.Unhealthy, check.Unknown} {
		s.send("pmcheck_verdict", "1 for the verdict on the service, 0 for the others.", truth(v.Verdict.Health == h),
			append(by, "verdict", string(h)))
	}

	s.send("pmcheck_verdict_since_timestamp_seconds", "When the verdict or its reason last changed.",
		seconds(v.Verdict.Since), by)
	s.send("pmcheck_verdict_reason_info", "Always 1; the reason of the verdict is a label.", 1,
		append(by, "reason", string(v.Verdict.Reason)))

	for _, m := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
		s.send("pmcheck_mode", "1 for the mode of the service, 0 for the others.", truth(v.Mode == m),
			append(by, "mode", string(m)))
	}
	s.send("pmcheck_serving", "1 while balancers are told to use the service.", truth(v.InService()), by)

	s.send("pmcheck_out", "1 once every balancer has let go of a service that is held.", truth(v.Departure.Out), by)
	s.send("pmcheck_idle", "1 once no agent is at work on a service that is out, either.", truth(v.Departure.Idle), by)
	s.send("pmcheck_only_server", "1 while a balancer has no other server, and expects none back.",
		truth(v.Departure.OnlyServer), by)

	for _, c := range v.Checks {
		s.finding(c)
	}
}

func (s scrape) finding(f check.Finding) {
	by := labels{"check", f.Check}
	for _, state := range []check.State{check.StateOK, check.StateWarn, check.StateBad, check.StateNone} {
		s.send("pmcheck_check_state", "1 for the state of the check, 0 for the others.", truth(f.State == state),
			append(by, "severity", string(f.Severity), "state", string(state)))
	}

	s.send("pmcheck_check_reason_info", "Always 1; the reason for the state of the check is a label, stale if the "+
		"check is stuck.", 1, append(by, "reason", string(f.Reason)))
	for _, e := range f.Code {
		if e.ID != "" {
			s.send("pmcheck_code_info", "Always 1; equal ids mean equal code.", 1, labels{"environment", e.Name, "id", e.ID})
		}
	}
	if f.Pool != nil {
		s.pool(*f.Pool)
	}
}

func (s scrape) pool(p check.Pool) {
	s.send("pmcheck_jruby_instances", "Configured JRuby instances.", float64(p.Size), nil)
	s.send("pmcheck_jruby_borrowed_instances", "Busy JRuby instances.", float64(len(p.Borrowed)), nil)
	s.send("pmcheck_jruby_waiting_requests", "Requests that wait for a JRuby instance.", float64(len(p.Waiting)), nil)
	s.send("pmcheck_jruby_borrow_timeouts_total", "Requests that gave up waiting for a JRuby instance since Puppet "+
		"Server started.", float64(p.Timeouts), nil)
	s.send("pmcheck_jruby_queue_limit_hits_total", "Requests turned away at max-queued-requests since Puppet Server "+
		"started.", float64(p.LimitHits), nil)
}

func (s scrape) hold(h drain.Hold) {
	by := labels{"holder", h.Holder, "service", string(h.Service)}
	s.send("pmcheck_hold_info", "Always 1, for each hold in effect; an empty service is every service.", 1,
		append(by, "mode", string(h.Mode)))

	if !h.Since.IsZero() {
		s.send("pmcheck_hold_since_timestamp_seconds", "When a hold was set.", seconds(h.Since), by)
	}
	if !h.Until.IsZero() {
		s.send("pmcheck_hold_end_timestamp_seconds", "When a hold ends by itself; absent if it never does.",
			seconds(h.Until), by)
	}
}

func (s scrape) balancer(b status.Balancer) {
	by := labels{"balancer", b.Node, "source", b.Source.String(), "server", b.Name, "service", string(b.Service)}
	s.send("pmcheck_balancer_check_timestamp_seconds", "When a balancer asked last, up to a day ago.", seconds(b.Seen), by)

	v := b.View
	if v == nil {
		return
	}

	for _, state := range []string{"UP", "DOWN", "NOLB", "DRAIN", "MAINT"} {
		s.send("pmcheck_balancer_state", "1 for the balancer's state of the master, 0 for the others.",
			truth(v.State == state), append(by, "state", state))
	}

	// Of a master that is not used, the total may be the weight of other servers alone.
	hasShare := v.Sends() && v.WeightTotal >= v.Weight && v.WeightTotal > 0
	if hasShare {
		s.send("pmcheck_balancer_weight_ratio", "The master's share of the weight of all servers that a balancer uses; "+
			"absent while it does not use the master.",
			float64(v.Weight)/float64(v.WeightTotal), by)
	}
	s.send("pmcheck_balancer_sessions", "Sessions that a balancer has with the master.", float64(v.Sessions), by)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
