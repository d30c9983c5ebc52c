package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// row is one metric: what it is called, and how it is read off a status.
type row struct {
	name string
	desc *prometheus.Desc
	kind prometheus.ValueType
	read reader
}

// reader sends the samples of a metric.
type reader func(m *Metrics, s api.Status, send sender)

// sender sends one sample; the labels are in the order of the row's.
type sender func(value float64, labels ...string)

func gauge(name, help string, read reader, labels ...string) row {
	return newRow(prometheus.GaugeValue, name, help, read, labels)
}

func counter(name, help string, read reader, labels ...string) row {
	return newRow(prometheus.CounterValue, name, help, read, labels)
}

func newRow(kind prometheus.ValueType, name, help string, read reader, labels []string) row {
	name = "pmcheck_" + name
	return row{name, prometheus.NewDesc(name, help, labels, nil), kind, read}
}

// Names returns the names of pmcheck's own metrics. The manual has the same list.
func Names() []string {
	names := []string{probeDuration}
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names
}

// rows lists the metrics that are read off a status.
func rows() []row {
	list := daemonRows()
	list = append(list, serviceRows()...)
	list = append(list, checkRows()...)
	list = append(list, holdRows()...)
	return append(list, balancerRows()...)
}

func daemonRows() []row {
	return []row{
		gauge("build_info", "Always 1; the version is a label.",
			one(func(s api.Status, send sender) { send(1, s.Version) }), "version"),
		gauge("start_timestamp_seconds", "When the daemon started.",
			one(func(s api.Status, send sender) { send(seconds(s.Started)) })),
		gauge("config_reload_successful", "1 if the configuration in use is the newest there is.",
			one(func(s api.Status, send sender) { send(truth(s.Config.Error == "")) })),
		gauge("config_loaded_timestamp_seconds", "When the configuration in use was read.",
			one(func(s api.Status, send sender) { send(seconds(s.Config.Loaded)) })),
		counter("answers_total", "Answers to checks by status code and kind of client: haproxy sends its view "+
			"of the master, other does not, socket is local.", readAnswers, "code", "client"),
		gauge("certificate_expiry_timestamp_seconds", "When a certificate expires: own is pmcheck's, server is the "+
			"master's, ca is in the CA bundle.", one(readCertificates), "certificate", "subject", "serial"),
		gauge("crl_expiry_timestamp_seconds", "When a CRL in use expires; number is its place in the file.",
			one(readCRLs), "issuer", "number"),
	}
}

func serviceRows() []row {
	return []row{
		gauge("verdict", "1 for the verdict on the service, 0 for the others.",
			services(func(s api.ServiceStatus, send sender) {
				for _, h := range []check.Health{
					check.Healthy, check.Busy, check.Warming, check.Unhealthy, check.Unknown,
				} {
					send(truth(s.Verdict.Health == h), s.Name, string(h))
				}
			}), "service", "verdict"),
		gauge("verdict_since_timestamp_seconds", "When verdict and reason became what they are.",
			services(func(s api.ServiceStatus, send sender) { send(seconds(s.Verdict.Since), s.Name) }), "service"),
		gauge("verdict_reason_info", "Always 1; the reason of the verdict is a label.",
			services(func(s api.ServiceStatus, send sender) { send(1, s.Name, string(s.Verdict.Reason)) }),
			"service", "reason"),
		gauge("mode", "1 for the mode of the service, 0 for the others.",
			services(func(s api.ServiceStatus, send sender) {
				for _, m := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
					send(truth(s.Mode == m), s.Name, string(m))
				}
			}), "service", "mode"),
		gauge("serving", "1 while balancers are told to use the service.",
			services(func(s api.ServiceStatus, send sender) {
				send(truth(s.Answer.Code == http.StatusOK), s.Name)
			}), "service"),
		counter("probes_total", "Probes since the start.",
			services(func(s api.ServiceStatus, send sender) { send(float64(s.Probes), s.Name) }), "service"),
		gauge("probe_timestamp_seconds", "When the last probe began.",
			services(func(s api.ServiceStatus, send sender) {
				if !s.Verdict.Checked.IsZero() {
					send(seconds(s.Verdict.Checked), s.Name)
				}
			}), "service"),
	}
}

func holdRows() []row {
	return []row{
		gauge("hold_info", "Always 1, for each hold in effect; an empty service is every service.",
			holds(func(h api.HoldStatus, send sender) { send(1, h.Holder, h.Service, string(h.Mode)) }),
			"holder", "service", "mode"),
		gauge("hold_since_timestamp_seconds", "When a hold was set.",
			holds(func(h api.HoldStatus, send sender) { sendTime(send, h.Since, h.Holder, h.Service) }),
			"holder", "service"),
		gauge("hold_end_timestamp_seconds", "When a hold ends by itself; absent if it never does.",
			holds(func(h api.HoldStatus, send sender) { sendTime(send, h.Until, h.Holder, h.Service) }),
			"holder", "service"),
	}
}

func balancerRows() []row {
	by := []string{"balancer", "source", "server", "service"}
	return []row{
		gauge("balancer_answer_code", "What a balancer was told last.",
			balancers(func(b api.Balancer, send sender, by []string) { send(float64(b.Answer.Code), by...) }), by...),
		gauge("balancer_check_timestamp_seconds", "When a balancer asked last.",
			balancers(func(b api.Balancer, send sender, by []string) { send(seconds(b.Seen), by...) }), by...),
		gauge("balancer_state", "1 for the state that the master has in a balancer, 0 for the others.",
			balancers(func(b api.Balancer, send sender, by []string) {
				for _, state := range []string{"UP", "DOWN", "NOLB", "DRAIN", "MAINT"} {
					if b.View != nil {
						send(truth(b.View.State == state), append(by, state)...)
					}
				}
			}), append(by, "state")...),
		gauge("balancer_weight_ratio", "The master's share of the weight of all servers of a balancer.",
			balancers(func(b api.Balancer, send sender, by []string) {
				if b.View != nil && b.View.WeightTotal > 0 {
					send(float64(b.View.Weight)/float64(b.View.WeightTotal), by...)
				}
			}), by...),
		gauge("balancer_sessions", "Sessions that a balancer has with the master.",
			balancers(func(b api.Balancer, send sender, by []string) {
				if b.View != nil {
					send(float64(b.View.Sessions), by...)
				}
			}), by...),
	}
}

// one reads a metric off the status as a whole.
func one(read func(s api.Status, send sender)) reader {
	return func(_ *Metrics, s api.Status, send sender) { read(s, send) }
}

// services reads a metric off each service.
func services(read func(s api.ServiceStatus, send sender)) reader {
	return func(_ *Metrics, s api.Status, send sender) {
		for _, v := range s.Services {
			read(v, send)
		}
	}
}

// holds reads a metric off each hold. The same holder may be in both
// directories, and is sent once.
func holds(read func(h api.HoldStatus, send sender)) reader {
	return func(_ *Metrics, s api.Status, send sender) {
		seen := map[[2]string]bool{}
		for _, h := range s.Holds {
			if key := [2]string{h.Holder, h.Service}; !seen[key] {
				seen[key] = true
				read(h, send)
			}
		}
	}
}

// balancers reads a metric off each balancer.
func balancers(read func(b api.Balancer, send sender, by []string)) reader {
	return func(_ *Metrics, s api.Status, send sender) {
		for _, b := range s.Balancers {
			read(b, send, []string{b.Node, b.Source.String(), b.Name, b.Service})
		}
	}
}

func readCertificates(s api.Status, send sender) {
	p := s.Probe
	if p.Own != nil {
		send(seconds(p.Own.NotAfter), "own", p.Own.Subject, p.Own.Serial)
	}
	if p.TLS != nil {
		send(seconds(p.TLS.Server.NotAfter), "server", p.TLS.Server.Subject, p.TLS.Server.Serial)
	}
	seen := map[string]bool{} // a bundle may hold a certificate twice
	for _, ca := range p.CAs {
		if key := strings.Join([]string{ca.Subject, ca.Serial}, "/"); !seen[key] {
			seen[key] = true
			send(seconds(ca.NotAfter), "ca", ca.Subject, ca.Serial)
		}
	}
}

func sendTime(send sender, t time.Time, labels ...string) {
	if !t.IsZero() {
		send(seconds(t), labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
