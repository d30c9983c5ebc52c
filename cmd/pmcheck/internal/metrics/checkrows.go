package metrics

import (
	"strconv"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

func checkRows() []row {
	return []row{
		gauge("check_state", "1 for the state of the check, 0 for the others.",
			findings(func(f check.Finding, send sender) {
				for _, s := range []check.State{check.StateOK, check.StateWarn, check.StateBad, check.StateNone} {
					send(truth(f.State == s), f.Check, string(f.Severity), string(s))
				}
			}), "check", "severity", "state"),
		gauge("check_reason_info", "Always 1; the reason for the state of the check is a label, stale if the check is "+
			"stuck.", findings(func(f check.Finding, send sender) { send(1, f.Check, string(f.Reason)) }), "check", "reason"),
		gauge("check_timestamp_seconds", "When the check was last made; for unit, when systemd last told of a change.",
			findings(func(f check.Finding, send sender) { send(seconds(f.Checked), f.Check) }), "check"),
		gauge("jruby_instances", "How many JRuby instances there are to be.",
			pools(func(p *check.Pool) float64 { return float64(p.Size) })),
		gauge("jruby_free_instances", "JRuby instances that wait for work.",
			pools(func(p *check.Pool) float64 { return float64(p.Free) })),
		gauge("jruby_borrowed_instances", "JRuby instances at work.",
			pools(func(p *check.Pool) float64 { return float64(len(p.Borrowed)) })),
		gauge("jruby_waiting_requests", "Requests that wait for a JRuby instance.",
			pools(func(p *check.Pool) float64 { return float64(len(p.Waiting)) })),
		gauge("jruby_oldest_loan_seconds", "For how long the oldest of the instances at work has been.", pools(oldestLoan)),
		counter("jruby_borrows_total", "Loans of JRuby instances since Puppet Server started.",
			pools(func(p *check.Pool) float64 { return float64(p.Borrows) })),
		counter("jruby_borrow_timeouts_total", "Requests that gave up waiting for a JRuby instance since Puppet Server "+
			"started.", pools(func(p *check.Pool) float64 { return float64(p.Timeouts) })),
		counter("jruby_queue_limit_hits_total", "Requests turned away at max-queued-requests since Puppet Server "+
			"started.", pools(func(p *check.Pool) float64 { return float64(p.LimitHits) })),
		gauge("code_info", "Always 1; the same id is the same code, reason is ok, or what is wrong with its deployment.",
			environments(func(e check.Environment, send sender) { send(1, e.Name, e.ID, string(e.Reason)) }),
			"environment", "id", "reason"),
		gauge("code_deployed_timestamp_seconds", "When the deployment of an environment was finished.",
			environments(func(e check.Environment, send sender) { sendTime(send, e.Finished, e.Name) }), "environment"),
	}
}

// findings reads a metric off each finding.
func findings(read func(f check.Finding, send sender)) reader {
	return services(func(s api.ServiceStatus, send sender) {
		for _, c := range s.Checks {
			read(c.Finding, send)
		}
	})
}

// pools reads a metric off the JRuby pool.
func pools(read func(p *check.Pool) float64) reader {
	return findings(func(f check.Finding, send sender) {
		if f.Pool != nil {
			send(read(f.Pool))
		}
	})
}

// environments reads a metric off each environment of the code.
func environments(read func(e check.Environment, send sender)) reader {
	return findings(func(f check.Finding, send sender) {
		for _, e := range f.Code {
			read(e, send)
		}
	})
}

func oldestLoan(p *check.Pool) (oldest float64) {
	for _, loan := range p.Borrowed {
		oldest = max(oldest, loan.Seconds)
	}
	return oldest
}

func readCRLs(s api.Status, send sender) {
	for i, crl := range s.Probe.CRLs {
		send(seconds(crl.Expires), crl.Issuer, strconv.Itoa(i))
	}
}
