package agent

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// clientKind is who asked, as far as metrics tell clients apart.
type clientKind int

// The kinds of clients.
const (
	clientHAProxy clientKind = iota // sends its view of us
	clientOther
	clientSocket
	clientKinds // how many there are
)

func (k clientKind) String() string { return [...]string{"haproxy", "other", "socket"}[k] }

// collector shows the status as metrics.
type collector struct {
	agent *Agent
	metrics
	descs []*prometheus.Desc
}

func newCollector(a *Agent) *collector {
	c := &collector{agent: a}
	c.descs = c.describe()
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	status := c.agent.Status(time.Now())
	send := func(m metric, value float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "?") // names come from disk and from clients
		}
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
	}
	send(c.build, 1, status.Version)
	send(c.started, seconds(status.Started))
	send(c.reloaded, truth(status.Config.Error == ""))
	send(c.reloadTime, seconds(status.Config.Loaded))
	for _, s := range status.Services {
		c.service(send, s)
		for _, f := range s.Checks {
			c.finding(send, f.Finding)
		}
	}
	for code := range c.agent.answers {
		for kind := range clientKinds {
			if n := c.agent.answers[code][kind].Load(); n > 0 {
				send(c.answers, float64(n), strconv.Itoa(code), kind.String())
			}
		}
	}
	c.probe(send, status.Probe)
	c.held(send, status.Holds)
	c.asking(send, status.Balancers)
}

// sender sends one sample of a metric.
type sender func(m metric, value float64, labels ...string)

func (c *collector) service(send sender, s ServiceStatus) {
	for _, h := range []check.Health{check.Healthy, check.Busy, check.Warming, check.Unhealthy, check.Unknown} {
		send(c.verdict, truth(s.Verdict.Health == h), s.Name, string(h))
	}
	for _, m := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
		send(c.mode, truth(s.Mode == m), s.Name, string(m))
	}
	send(c.verdictSince, seconds(s.Verdict.Since), s.Name)
	send(c.reason, 1, s.Name, string(s.Verdict.Reason))
	send(c.serving, truth(s.Answer.Code == http.StatusOK), s.Name)
	send(c.probes, float64(s.Probes), s.Name)
	if !s.Verdict.Checked.IsZero() {
		send(c.probeTime, seconds(s.Verdict.Checked), s.Name)
	}
}

func (c *collector) probe(send sender, p ProbeStatus) {
	if p.Own != nil {
		send(c.certificate, seconds(p.Own.NotAfter), "own", p.Own.Subject, p.Own.Serial)
	}
	if p.TLS != nil {
		send(c.certificate, seconds(p.TLS.Server.NotAfter), "server", p.TLS.Server.Subject, p.TLS.Server.Serial)
	}
	seen := map[string]bool{} // a bundle may hold a certificate twice
	for _, ca := range p.CAs {
		if key := ca.Subject + "/" + ca.Serial; !seen[key] {
			seen[key] = true
			send(c.certificate, seconds(ca.NotAfter), "ca", ca.Subject, ca.Serial)
		}
	}
	for i, crl := range p.CRLs {
		send(c.crl, seconds(crl.Expires), crl.Issuer, strconv.Itoa(i))
	}
}

func (c *collector) finding(send sender, f check.Finding) {
	for _, s := range []check.State{check.StateOK, check.StateWarn, check.StateBad, check.StateNone} {
		send(c.check, truth(f.State == s), f.Check, string(f.Severity), string(s))
	}
	send(c.checkReason, 1, f.Check, string(f.Reason))
	send(c.checkTime, seconds(f.Checked), f.Check)
	if p := f.Pool; p != nil {
		send(c.poolSize, float64(p.Size))
		send(c.poolFree, float64(p.Free))
		send(c.poolBorrowed, float64(len(p.Borrowed)))
		send(c.poolWaiting, float64(len(p.Waiting)))
		send(c.poolOldest, oldestLoan(p.Borrowed))
		send(c.poolBorrows, float64(p.Borrows))
		send(c.poolTimeouts, float64(p.Timeouts))
		send(c.poolLimitHits, float64(p.LimitHits))
	}
	for _, e := range f.Code {
		send(c.code, 1, e.Name, e.ID, string(e.Reason))
		if !e.Finished.IsZero() {
			send(c.codeTime, seconds(e.Finished), e.Name)
		}
	}
}

func oldestLoan(loans []check.Loan) (oldest float64) {
	for _, loan := range loans {
		oldest = max(oldest, loan.Seconds)
	}
	return oldest
}

func (c *collector) held(send sender, holds []HoldStatus) {
	seen := map[[2]string]bool{} // the same holder may be in both directories
	for _, h := range holds {
		key := [2]string{h.Holder, h.Service}
		if seen[key] {
			continue
		}
		seen[key] = true
		send(c.hold, 1, h.Holder, h.Service, string(h.Mode))
		if !h.Since.IsZero() {
			send(c.holdSince, seconds(h.Since), h.Holder, h.Service)
		}
		if !h.Until.IsZero() {
			send(c.holdEnd, seconds(h.Until), h.Holder, h.Service)
		}
	}
}

func (c *collector) asking(send sender, list []Balancer) {
	for _, b := range list {
		labels := []string{b.Node, b.Source.String(), b.Name, b.Service}
		send(c.balancer, float64(b.Answer.Code), labels...)
		send(c.balancerTime, seconds(b.Seen), labels...)
		if b.View == nil {
			continue
		}
		for _, state := range []string{"UP", "DOWN", "NOLB", "DRAIN", "MAINT"} {
			send(c.balancerState, truth(b.View.State == state), append(labels, state)...)
		}
		if b.View.WeightTotal > 0 {
			send(c.balancerWeight, float64(b.View.Weight)/float64(b.View.WeightTotal), labels...)
		}
		send(c.balancerSessions, float64(b.View.Sessions), labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
