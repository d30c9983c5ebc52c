package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// Exit statuses of a monitoring plugin.
const (
	NagiosOK = iota
	NagiosWarning
	NagiosCritical
	NagiosUnknown
)

// Nagios writes the report as a monitoring plugin does: one line, with
// performance data behind the bar.
func (r Report) Nagios(warnExpiry time.Duration, now time.Time) (status int, line string) {
	status, text := nagiosVerdict(r)
	perf := []string{fmt.Sprintf("time=%.4fs;;;0", r.Probe.Took)}
	for _, e := range r.expiries() {
		left := e.at.Sub(now)
		perf = append(perf, fmt.Sprintf("%s=%ds;%d:", e.name, int(left.Seconds()), int(warnExpiry.Seconds())))
		if status == NagiosOK && left < warnExpiry {
			status, text = NagiosWarning, fmt.Sprintf("%s %s", e.label, expiryText(e.at, now))
		}
	}
	word := []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[status]
	// A bar would begin the performance data.
	text = strings.ReplaceAll(text, "|", "/")
	return status, fmt.Sprintf("PUPPETSERVER %s - %s | %s", word, text, strings.Join(perf, " "))
}

func nagiosVerdict(r Report) (status int, text string) {
	switch r.Health {
	case check.Healthy:
		return NagiosOK, "running"
	case check.Busy, check.Warming:
		status = NagiosWarning
	case check.Unhealthy:
		status = NagiosCritical
	default:
		status = NagiosUnknown
	}
	return status, fmt.Sprintf("%s: %s: %s", r.Health, r.Reason, r.Detail)
}

// expiry is something that ends.
type expiry struct {
	name, label string
	at          time.Time
}

func (r Report) expiries() []expiry {
	var list []expiry
	if r.Probe.TLS != nil {
		list = append(list, expiry{"server_cert", "server certificate", r.Probe.TLS.Server.NotAfter})
	}
	if r.Probe.Own != nil {
		list = append(list, expiry{"own_cert", "own certificate", r.Probe.Own.NotAfter})
	}
	if first, any := r.Probe.FirstCRLExpiry(); any {
		list = append(list, expiry{"crl", "CRL", first})
	}
	return list
}
