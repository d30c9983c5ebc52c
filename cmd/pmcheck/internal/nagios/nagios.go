// Package nagios writes the line of a monitoring plugin, and decides its state: what is
// WARNING and what is CRITICAL. It does not know where the facts come from.
package nagios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

// A State is the exit status of a monitoring plugin.
type State int

// The states, as the guidelines of the monitoring plugins number them.
const (
	OK State = iota
	Warning
	Critical
	Unknown
)

// String returns the state's word in the line.
func (s State) String() string { return []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// worse reports whether s is worse than another state: UNKNOWN is worse than WARNING, and
// CRITICAL is the worst.
func (s State) worse(than State) bool {
	order := [...]int{OK: 0, Warning: 1, Unknown: 2, Critical: 3}
	return order[s] > order[than]
}

// Limits say when a fact becomes a WARNING or CRITICAL. A zero limit is never reached.
type Limits struct {
	WarnExpiry time.Duration // left of a certificate or CRL
	CritExpiry time.Duration
	CritHold   time.Duration // age of a hold
}

// A Line is what a plugin prints, and the State it exits with.
type Line struct {
	State State
	texts []string // about the state
	perf  []string
}

// Failed returns the line of a plugin that failed before it had a result.
func Failed(state State, err error) *Line {
	return &Line{State: state, texts: []string{firstLine(err)}}
}

func firstLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// add adds a fact. The line shows the facts of the worst state.
func (l *Line) add(state State, text string) {
	switch {
	case state.worse(l.State):
		l.State, l.texts = state, []string{text}
	case state == l.State:
		l.texts = append(l.texts, text)
	}
}

// String returns the line. Text from a host or a master is made printable.
func (l *Line) String() string {
	// A bar begins the performance data.
	said := strings.ReplaceAll(text.Printable(strings.Join(l.texts, "; "), 1000), "|", "/")
	line := fmt.Sprintf("PUPPETSERVER %s - %s", l.State, said)
	if len(l.perf) > 0 {
		line += " | " + strings.Join(l.perf, " ")
	}
	return line
}

// Probe returns the line for one probe, made now, the verdict on it, and what the other
// checks found. A check that did not end in time is UNKNOWN.
func Probe(v check.Verdict, p api.ProbeStatus, checks []api.CheckStatus, limits Limits, now time.Time) *Line {
	l := &Line{}
	state, said := verdict(v)
	l.add(state, said)
	l.sideChecks(checks)
	for _, c := range checks {
		if c.State == check.StateNone && c.Reason == check.Timeout {
			l.add(Unknown, fmt.Sprintf("%s: %s", c.Check, c.Detail))
		}
	}
	l.probe(p, limits, now)
	return l
}

// probe adds the duration of a probe and when the certificates and CRLs in it expire.
func (l *Line) probe(p api.ProbeStatus, limits Limits, now time.Time) {
	l.perf = append(l.perf, fmt.Sprintf("time=%.4fs;;;0", p.Took))
	for _, e := range expiries(p) {
		left := e.at.Sub(now)
		warn := check.ExpiryMargin(limits.WarnExpiry, e.from, e.at)
		crit := check.ExpiryMargin(limits.CritExpiry, e.from, e.at)
		value := fmt.Sprintf("%s=%ds;%s;%s", e.name, seconds(left), below(warn), below(crit))
		l.perf = append(l.perf, strings.TrimRight(value, ";"))
		switch {
		case limits.CritExpiry > 0 && left < crit:
			l.add(Critical, e.String(now))
		case limits.WarnExpiry > 0 && left < warn:
			l.add(Warning, e.String(now))
		}
	}
}

// verdict returns the state of a verdict, and the verdict in words.
func verdict(v check.Verdict) (state State, said string) {
	switch v.Health {
	case check.Healthy:
		return OK, "running"
	case check.Busy, check.Warming:
		state = Warning
	case check.Unhealthy:
		state = Critical
	default:
		state = Unknown
	}
	said = fmt.Sprintf("%s: %s", v.Health, v.Reason)
	if v.Detail != "" {
		said += ": " + v.Detail
	}
	return state, said
}

// expiry is a certificate or a CRL, and when it expires.
type expiry struct {
	name, label string
	from, at    time.Time
}

// String returns what expires, and when.
func (e expiry) String(now time.Time) string {
	return fmt.Sprintf("%s %s", e.label, render.Expiry(e.at, now))
}

func expiries(p api.ProbeStatus) (list []expiry) {
	if p.TLS != nil {
		c := p.TLS.Server
		list = append(list, expiry{"server_cert", "server certificate", c.NotBefore, c.NotAfter})
	}
	if c := p.Own; c != nil {
		list = append(list, expiry{"own_cert", "own certificate", c.NotBefore, c.NotAfter})
	}
	if len(p.CAs) > 0 {
		first := slices.MinFunc(p.CAs, func(a, b check.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		list = append(list, expiry{"ca", "CA certificate", first.NotBefore, first.NotAfter})
	}
	if first, found := p.FirstCRL(); found {
		list = append(list, expiry{"crl", "CRL", first.Updated, first.Expires})
	}
	return list
}

func seconds(d time.Duration) int { return int(d.Seconds()) }

// below returns the range of a limit that is reached from above, empty for none.
func below(limit time.Duration) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("%d:", seconds(limit))
}
