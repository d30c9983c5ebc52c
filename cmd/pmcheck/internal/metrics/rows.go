package metrics

import "github.com/prometheus/client_golang/prometheus"

// row is one metric. Samples have the values of its labels in the same order.
type row struct {
	name string // without the prefix pmcheck_
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) row {
	return row{name, prometheus.NewDesc("pmcheck_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) row {
	return row{name, prometheus.NewDesc("pmcheck_"+name, help, labels, nil), prometheus.CounterValue}
}

// rows lists all metrics but the histogram of probes and pmcheck_build_info. The manual has the same list.
func rows() []row {
	by := []string{"balancer", "source", "server", "service"}
	return []row{
		gauge("config_last_reload_successful", "1 if the last start or reload read pmcheck.yaml, 0 if an older "+
			"configuration is in use."),
		gauge("config_last_reload_success_timestamp_seconds", "When the configuration in use was read from "+
			"pmcheck.yaml."),
		counter("answers_total", "Answers to checks by status code and kind of client: haproxy sends its view "+
			"of the master, other does not, socket is local.", "code", "client"),
		gauge("certificate_expiry_timestamp_seconds", "When a certificate expires: own is pmcheck's, server is the "+
			"master's, ca is in the CA bundle.", "certificate", "subject", "serial"),
		gauge("certificate_expiry_margin_seconds", "How long before it expires a certificate should be renewed: 30 days, "+
			"or a quarter of a lifetime below 120 days.", "certificate", "subject", "serial"),
		gauge("crl_expiry_timestamp_seconds", "When a CRL in use expires; number is its place in the list of them.",
			"issuer", "number"),
		gauge("crl_expiry_margin_seconds", "The same margin for a CRL.", "issuer", "number"),

		gauge("verdict", "1 for the verdict on the service, 0 for the others.", "service", "verdict"),
		gauge("verdict_since_timestamp_seconds", "When the verdict or its reason last changed.", "service"),
		gauge("verdict_reason_info", "Always 1; the reason of the verdict is a label.", "service", "reason"),
		gauge("mode", "1 for the mode of the service, 0 for the others.", "service", "mode"),
		gauge("serving", "1 while balancers are told to use the service.", "service"),

		gauge("check_state", "1 for the state of the check, 0 for the others.", "check", "severity", "state"),
		gauge("check_reason_info", "Always 1; the reason for the state of the check is a label, stale if the check is "+
			"stuck.", "check", "reason"),
		gauge("jruby_instances", "Configured JRuby instances."),
		gauge("jruby_borrowed_instances", "Busy JRuby instances."),
		gauge("jruby_waiting_requests", "Requests that wait for a JRuby instance."),
		counter("jruby_borrow_timeouts_total", "Requests that gave up waiting for a JRuby instance since Puppet Server "+
			"started."),
		counter("jruby_queue_limit_hits_total", "Requests turned away at max-queued-requests since Puppet Server "+
			"started."),
		gauge("jruby_wait_seconds", "Mean time that requests of the last minutes waited for a JRuby instance."),
		counter("jruby_requests_total", "Requests that had a JRuby instance since Puppet Server started.", "route"),
		gauge("jruby_request_seconds", "Mean time for which requests of the last minutes had a JRuby instance; that of "+
			"puppet-v3-catalog is the time of a compilation.", "route"),
		gauge("code_info", "Always 1; equal ids mean equal code.", "environment", "id"),
		gauge("hold_info", "Always 1, for each hold in effect; an empty service is every service.",
			"holder", "service", "mode"),
		gauge("hold_since_timestamp_seconds", "When a hold was set.", "holder", "service"),
		gauge("hold_end_timestamp_seconds", "When a hold ends by itself; absent if it never does.", "holder", "service"),

		gauge("budget_slots_out", "Masters of the pool that are out and count, as this one saw last.", "budget"),
		gauge("budget_slots_allowed", "Masters of the pool that may be out, by this one's configuration.", "budget"),
		gauge("budget_slots_forced", "Masters among those out that were too many when they left.", "budget"),
		gauge("budget_reachable", "1 if the database of the budget answered last.", "budget"),

		gauge("gate_closed", "1 while new connections to the master's port are refused, 0 while the gate is open; "+
			"absent while no gate runs."),

		gauge("balancer_check_timestamp_seconds", "When a balancer asked last.", by...),
		gauge("balancer_state", "1 for the balancer's state of the master, 0 for the others.",
			append(by, "state")...),
		gauge("balancer_weight_ratio", "The master's share of the weight of all servers of a balancer.", by...),
		gauge("balancer_sessions", "Sessions that a balancer has with the master.", by...),
	}
}
