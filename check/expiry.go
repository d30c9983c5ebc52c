package check

import (
	"fmt"
	"time"
)

// DefaultExpiryWarn is how long before the end Expiry warns.
const DefaultExpiryWarn = 30 * 24 * time.Hour

// Expiry says which of the certificates and CRLs that a probe met is the
// first to expire, and warns of it ahead of time; a warn of 0 means
// DefaultExpiryWarn. Several CA
// certificates or CRLs of one name replace each other: the one that lasts
// longest counts.
//
// It never names a health. Where something expired makes the master refuse
// agents, it refuses the probe too, which takes the master out with a reason
// of its own; what has expired and hurts neither, such as the certificate of
// a former CA in the bundle, is no reason to send agents away.
func Expiry(r Result, warn time.Duration, now time.Time) Finding {
	if warn <= 0 {
		warn = DefaultExpiryWarn
	}
	f := Finding{Check: CheckExpiry, State: StateOK, Reason: OK, Threshold: days(warn), Checked: r.Asked}
	first, ok := firstToExpire(r)
	if !ok {
		f.State, f.Reason, f.Detail = StateNone, NotKnown, "no certificate has been read"
		return f
	}
	left, end := first.at.Sub(now), first.at.UTC().Format(time.RFC3339)
	f.Value = fmt.Sprintf("%s, in %s: %s", end, days(left), first.what)
	switch {
	case left <= 0:
		f.Value = end + ": " + first.what
		f.State, f.Reason, f.Detail = StateBad, Expired, first.what+" expired at "+end
	case left < warn:
		f.State, f.Reason, f.Detail = StateWarn, ExpiresSoon, first.what+" expires at "+end
	}
	return f
}

// dated is something that expires.
type dated struct {
	what string
	at   time.Time
}

func firstToExpire(r Result) (first dated, ok bool) {
	for _, d := range r.dated() {
		if !d.at.IsZero() && (!ok || d.at.Before(first.at)) {
			first, ok = d, true
		}
	}
	return first, ok
}

// dated lists what expires.
func (r Result) dated() []dated {
	var list []dated
	add := func(what string, at time.Time) {
		for i := range list {
			if list[i].what == what {
				if at.After(list[i].at) {
					list[i].at = at
				}
				return
			}
		}
		list = append(list, dated{what, at})
	}
	if r.TLS != nil {
		list = append(list, dated{"the master's certificate " + r.TLS.Server.Subject, r.TLS.Server.NotAfter})
	}
	if r.Own != nil {
		list = append(list, dated{"our certificate " + r.Own.Subject, r.Own.NotAfter})
	}
	for _, ca := range r.CAs {
		add("the CA certificate "+ca.Subject, ca.NotAfter)
	}
	for _, crl := range r.CRLs {
		add("the CRL of "+crl.Issuer, crl.Expires)
	}
	return list
}

// Loaded compares the certificate that the master shows with the one on disk.
// Puppet Server loads a certificate only when it starts, so one that was
// renewed is not in use, and the old one will expire unnoticed. The two can
// be compared if the master's certificate is the host's own.
func Loaded(r Result) Finding {
	f := Finding{Check: CheckLoaded, State: StateOK, Reason: OK, Checked: r.Asked}
	unknown := func(detail string) Finding {
		f.State, f.Reason, f.Detail = StateNone, NotKnown, detail
		return f
	}
	if r.Own == nil || r.TLS == nil {
		return unknown("there is nothing to compare: no connection, or no certificate on disk")
	}
	shown, own := r.TLS.Server, *r.Own
	f.Value = "serial " + shown.Serial
	switch {
	case shown.Subject != own.Subject:
		return unknown(fmt.Sprintf("the master shows the certificate of %s, ours is that of %s", shown.Subject, own.Subject))
	case shown.Serial != own.Serial || shown.Issuer != own.Issuer || !shown.NotAfter.Equal(own.NotAfter):
		f.State, f.Reason, f.Threshold = StateWarn, CertificateOnDisk, "serial "+own.Serial
		f.Detail = fmt.Sprintf("the certificate %s was renewed on disk, not loaded: the one in use expires at %s",
			own.Subject, shown.NotAfter.UTC().Format(time.RFC3339))
	}
	return f
}

// days says a duration in whole days, or in hours below two days.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
