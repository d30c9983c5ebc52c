package metrics

import (
	"strconv"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// sender sends one sample of the row with that name, which must exist.
type sender func(name string, value float64, labels ...string)

// status sends the metrics that are read from a status.
func (send sender) status(s status.Status) {
	send("config_last_reload_successful", truth(s.Config.Error == ""))
	send("config_last_reload_success_timestamp_seconds", seconds(s.Config.Loaded))
	send.certificates(s.Probe)
	for _, v := range s.Services {
		send.service(v)
		for _, c := range v.Checks {
			send.finding(c.Finding)
		}
	}
	send.holds(s.Holds)
	if s.Budget != nil {
		send.budget(s.Budget)
	}
	if s.Gate != nil {
		send("gate_closed", truth(s.Gate.Closed && s.Gate.Runs(s.Time)))
	}
	send.balancers(s.Balancers)
}

func (send sender) budget(b *status.BudgetStatus) {
	send("budget_slots_out", float64(b.Out), b.Pool)
	send("budget_slots_allowed", float64(b.Allowed), b.Pool)
	send("budget_slots_forced", float64(b.Forced), b.Pool)
	send("budget_reachable", truth(b.Reachable), b.Pool)
}

func (send sender) certificates(p status.ProbeStatus) {
	expiry := func(what string, from, to time.Time, labels ...string) {
		send(what+"_expiry_timestamp_seconds", seconds(to), labels...)
		send(what+"_expiry_margin_seconds", check.ExpiryMargin(check.ExpiryWarn, from, to).Seconds(), labels...)
	}
	certificate := func(which string, c check.Certificate) {
		expiry("certificate", c.NotBefore, c.NotAfter, which, c.Subject, c.Serial)
	}
	if p.Own != nil {
		certificate("own", *p.Own)
	}
	if p.TLS != nil {
		certificate("server", p.TLS.Server)
	}
	for _, ca := range p.CAs {
		certificate("ca", ca)
	}
	for i, crl := range p.CRLs {
		expiry("crl", crl.Updated, crl.Expires, crl.Issuer, strconv.Itoa(i))
	}
}

func (send sender) service(v status.ServiceStatus) {
	for _, h := range []check.Health{check.Healthy, check.Busy, check.Warming, check.Unhealthy, check.Unknown} {
		send("verdict", truth(v.Verdict.Health == h), v.Name, string(h))
	}
	send("verdict_since_timestamp_seconds", seconds(v.Verdict.Since), v.Name)
	send("verdict_reason_info", 1, v.Name, string(v.Verdict.Reason))
	for _, m := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
		send("mode", truth(v.Mode == m), v.Name, string(m))
	}
	send("serving", truth(v.Serves()), v.Name)
}

func (send sender) finding(f check.Finding) {
	for _, s := range []check.State{check.StateOK, check.StateWarn, check.StateBad, check.StateNone} {
		send("check_state", truth(f.State == s), f.Check, string(f.Severity), string(s))
	}
	send("check_reason_info", 1, f.Check, string(f.Reason))
	if f.Pool != nil {
		send.pool(f.Pool)
	}
	for _, e := range f.Code {
		send("code_info", 1, e.Name, e.ID)
	}
}

func (send sender) pool(p *check.Pool) {
	send("jruby_instances", float64(p.Size))
	send("jruby_borrowed_instances", float64(len(p.Borrowed)))
	send("jruby_waiting_requests", float64(len(p.Waiting)))
	send("jruby_borrow_timeouts_total", float64(p.Timeouts))
	send("jruby_queue_limit_hits_total", float64(p.LimitHits))
	send("jruby_wait_seconds", p.Wait)
	for _, r := range p.Routes {
		send("jruby_requests_total", float64(r.Count), r.Name)
		send("jruby_request_seconds", r.Mean, r.Name)
	}
}

// holds sends the holds. A holder may have one in each directory; it is sent once.
func (send sender) holds(holds []status.HoldStatus) {
	seen := map[[2]string]bool{}
	for _, h := range holds {
		if key := [2]string{h.Holder, h.Service}; !seen[key] {
			seen[key] = true
			send("hold_info", 1, h.Holder, h.Service, string(h.Mode))
			send.time("hold_since_timestamp_seconds", h.Since, h.Holder, h.Service)
			send.time("hold_end_timestamp_seconds", h.Until, h.Holder, h.Service)
		}
	}
}

// balancers sends the balancers. Those on one address that differ only in the codes that
// they chose have the same labels, and the one that asked last is sent.
func (send sender) balancers(list []status.Balancer) {
	last := map[[4]string]status.Balancer{}
	for _, b := range list {
		by := [4]string{b.Node, b.Source.String(), b.Name, b.Service}
		if old, found := last[by]; !found || b.Seen.After(old.Seen) {
			last[by] = b
		}
	}
	for by, b := range last {
		send.balancer(b, by[:])
	}
}

func (send sender) balancer(b status.Balancer, by []string) {
	send("balancer_check_timestamp_seconds", seconds(b.Seen), by...)
	if b.View == nil {
		return
	}
	for _, state := range []string{"UP", "DOWN", "NOLB", "DRAIN", "MAINT"} {
		send("balancer_state", truth(b.View.State == state), append(by, state)...)
	}
	if b.View.WeightTotal > 0 {
		send("balancer_weight_ratio", float64(b.View.Weight)/float64(b.View.WeightTotal), by...)
	}
	send("balancer_sessions", float64(b.View.Sessions), by...)
}

// time sends a time unless it is zero.
func (send sender) time(name string, t time.Time, labels ...string) {
	if !t.IsZero() {
		send(name, seconds(t), labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
