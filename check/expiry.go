package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckExpiry = "expiry"

	ExpiresSoon Reason = "expires-soon"
	Expired     Reason = "expired"
)

// ExpirySettings say when to warn.
type ExpirySettings struct {
	// Warn is how long before a certificate or CRL expires the check begins to warn.
	Warn time.Duration `yaml:"warn" min:"1h" max:"3650d"`
}

func expiry() Check {
	s := &ExpirySettings{Warn: 30 * 24 * time.Hour}
	return Check{
		Name:     CheckExpiry,
		Title:    "certificates and CRLs that will expire",
		Severity: Warn,
		Asks: "When the certificate of the master, the one that pmcheck offers, each CA certificate and each CRL of " +
			"the bundle expire. The first to expire counts.",
		Why: "Agents are refused the moment one of them expires, all at once and without a warning; CRLs live five " +
			"years and are forgotten.",
		Because: "nothing has failed yet. If the master refuses agents because something has expired, it refuses the " +
			"probe too, which takes it out with a reason of its own.",
		Do: "Renew what the check names: a host's certificate with puppet ssl and a restart of puppetserver, CA " +
			"certificates and CRLs on the CA, then puppet ssl download_crl on each master.",
		Reasons: []Cause{
			{ExpiresSoon, "", "renew it in time: a certificate with puppet ssl, then restart puppetserver; " +
				"CA certificates and CRLs on the CA"},
			{Expired, "", "renew it; if nothing uses it any more, remove it from the bundle"},
		},
		Settings: s,
		Observe:  s.judge,
	}
}

// judge finds the first to expire of the certificates and CRLs in the result of a
// probe, and warns ahead of time.
//
// The finding never has a Health. If the master refuses agents because something has
// expired, it refuses the probe too, and the probe takes it out. If the master does
// not refuse them, as with the certificate of a former CA in the bundle, agents are
// still served.
func (s *ExpirySettings) judge(r Result, now time.Time) Finding {
	f := Finding{Check: CheckExpiry, State: StateOK, Reason: OK, Threshold: text.Duration(s.Warn), Checked: r.Asked}
	all := r.dated()
	if len(all) == 0 {
		return f.unknown("no certificate has been read")
	}
	first := slices.MinFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	left, end := first.at.Sub(now), first.at.UTC().Format(time.RFC3339)
	f.Value = fmt.Sprintf("%s, in %s: %s", end, text.Age(left), first.what)
	switch {
	case left <= 0:
		f.Value = end + ": " + first.what
		f.State, f.Reason, f.Detail = StateBad, Expired, first.what+" expired at "+end
	case left < s.Warn:
		f.State, f.Reason, f.Detail = StateWarn, ExpiresSoon, first.what+" expires at "+end
	}
	return f
}

// dated is something that expires.
type dated struct {
	what string
	at   time.Time
}

// dated lists what expires. CA certificates or CRLs with the same name replace each
// other: of these, the last to expire counts.
func (r Result) dated() []dated {
	var list []dated
	add := func(what string, at time.Time) {
		i := slices.IndexFunc(list, func(d dated) bool { return d.what == what })
		switch {
		case at.IsZero():
		case i < 0:
			list = append(list, dated{what, at})
		case at.After(list[i].at):
			list[i].at = at
		}
	}
	if r.TLS != nil {
		add("the master's certificate "+r.TLS.Server.Subject, r.TLS.Server.NotAfter)
	}
	if r.Own != nil {
		add("our certificate "+r.Own.Subject, r.Own.NotAfter)
	}
	for _, ca := range r.CAs {
		add("the CA certificate "+ca.Subject, ca.NotAfter)
	}
	for _, crl := range r.CRLs {
		add("the CRL of "+crl.Issuer, crl.Expires)
	}
	return list
}
