package check

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckExpiry = "expiry"

	ExpiresSoon       Reason = "expires-soon"
	Expired           Reason = "expired"
	CertificateOnDisk Reason = "certificate-not-loaded"
	FilesNotUsed      Reason = "files-not-used"
	NameMissing       Reason = "certificate-name-missing"
)

// ExpirySettings say when to warn.
type ExpirySettings struct {
	// Warn is how long before a certificate or CRL expires the check begins to warn; see
	// ExpiryMargin for those with a short lifetime.
	Warn time.Duration `yaml:"warn" min:"1h" max:"3650d"`
	// Names are the names that agents use for the master, as far as puppet.conf has them.
	Names []string `yaml:"-"`
}

func expiry() Check {
	s := &ExpirySettings{Warn: ExpiryWarn}
	return Check{
		Name:     CheckExpiry,
		Severity: Warn,
		Shared:   true,
		Reasons: []Cause{
			{ExpiresSoon, "renew it in time, a host's certificate with its dns_alt_names; one of less than 120 days renews " +
				"itself if the agent runs and ca.conf has allow-auto-renewal"},
			{Expired, "renew it; if nothing uses it any more, remove it from the bundle"},
			{CertificateOnDisk, "pmcheck with-hold -- systemctl restart puppetserver"},
			{FilesNotUsed, "repair the file that is named, or let pmcheck's user read it; the last good ones are used"},
			{NameMissing, "renew the certificate with the name in dns_alt_names, or remove it from puppet.conf"},
		},
		Settings: s,
		Observe:  func() Observer { return s.judge },
	}
}

// judge finds the first to expire of the certificates and CRLs in the result of a
// probe, and warns ahead of time. It also warns of files on disk that are not in use: if the
// certificate in use expires soon, that is what to do something about.
//
// The finding never has a Health. If the master refuses agents because something has
// expired, it refuses the probe too, and the probe takes it out. If the master does
// not refuse them, as with the certificate of a former CA in the bundle, agents are
// still served.
func (s *ExpirySettings) judge(r Result, now time.Time) Finding {
	f := Finding{Check: CheckExpiry, State: StateOK, Reason: OK, Checked: r.Asked}
	if fault := faultOf(r.Anonymous); fault != nil {
		f.State, f.Reason = StateBad, fault.Reason
		f.Detail = "the master is asked without a client certificate: " + fault.Error()
		return f
	}
	all := r.dated()
	if len(all) == 0 {
		return f.unknown("no certificate has been read")
	}
	late := slices.DeleteFunc(slices.Clone(all), func(d dated) bool { return d.at.Sub(now) >= d.margin(s.Warn) })
	if len(late) > 0 {
		all = late
	}
	first := slices.MinFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	left, end := first.at.Sub(now), first.at.UTC().Format(time.RFC3339)
	f.Value = fmt.Sprintf("%s, in %s: %s", end, text.Age(left), first.what)
	switch {
	case left <= 0:
		f.Value = end + ": " + first.what
		f.State, f.Reason, f.Detail = StateBad, Expired, first.what+" expired at "+end
	case r.Warning != nil:
		f.State, f.Reason, f.Detail = StateWarn, FilesNotUsed, "the files on disk cannot be used: "+r.Warning.Error()
	case r.renewed():
		f.State, f.Reason = StateWarn, CertificateOnDisk
		f.Detail = fmt.Sprintf("the certificate %s was renewed on disk, not loaded: the one in use expires at %s",
			r.Own.Subject, r.TLS.Server.NotAfter.UTC().Format(time.RFC3339))
	case len(r.lacking(s.Names)) > 0:
		f.State, f.Reason = StateWarn, NameMissing
		f.Detail = fmt.Sprintf("the master's certificate has only %s, not %s, which puppet.conf names",
			strings.Join(r.TLS.Server.Names, ", "), strings.Join(r.lacking(s.Names), ", "))
	case len(late) > 0:
		f.State, f.Reason, f.Detail = StateWarn, ExpiresSoon, first.what+" expires at "+end
	}
	return f
}

// lacking returns the names for which the master's certificate is not valid.
func (r Result) lacking(names []string) []string {
	if r.TLS == nil || len(r.TLS.Server.Names) == 0 {
		return nil // agents then compare the common name with the certname
	}
	shown := x509.Certificate{DNSNames: r.TLS.Server.Names}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(shown.DNSNames, name) || shown.VerifyHostname(name) == nil
	})
}

// renewed reports whether the host's certificate on disk is another than the one that the master
// loaded when it started. A master whose certificate has another name does not use the host's.
func (r Result) renewed() bool {
	if r.Own == nil || r.TLS == nil {
		return false
	}
	shown, own := r.TLS.Server, *r.Own
	another := shown.Serial != own.Serial || shown.Issuer != own.Issuer || !shown.NotAfter.Equal(own.NotAfter)
	return shown.Subject == own.Subject && another
}

// dated is something that expires.
type dated struct {
	what     string
	from, at time.Time
}

func (d dated) margin(warn time.Duration) time.Duration { return ExpiryMargin(warn, d.from, d.at) }

// ExpiryWarn is the default time before an end at which a warning begins.
const ExpiryWarn = 30 * 24 * time.Hour

// ExpiryMargin returns how long before its end a warning begins for a certificate or CRL
// that is valid from one time to another: warn, or a quarter of a short lifetime if that
// is less. What lives for less than 120 days is renewed by a program, for example by the agent
// of Puppet 8, 30 days before the end of 90, and would be warned of at each renewal.
func ExpiryMargin(warn time.Duration, from, to time.Time) time.Duration {
	if life := to.Sub(from); !from.IsZero() && life < 120*24*time.Hour {
		return min(warn, life/4)
	}
	return warn
}

// dated lists what expires.
func (r Result) dated() (list []dated) {
	certificates := func(whose string, some ...Certificate) {
		for _, c := range some {
			list = append(list, dated{whose + " certificate " + c.Subject, c.NotBefore, c.NotAfter})
		}
	}
	if r.TLS != nil {
		certificates("the master's", r.TLS.Server)
	}
	if r.Own != nil {
		certificates("our", *r.Own)
	}
	cas, crls := r.Expiring()
	certificates("the CA", cas...)
	for _, c := range crls {
		list = append(list, dated{"the CRL of " + c.Issuer, c.Updated, c.Expires})
	}
	return list
}

// Expiring returns the CA certificates and the CRLs whose end matters. Those with the same
// name replace each other: of these, the last to expire is returned, in the place of the
// first. One without an end is left out.
func (r Result) Expiring() (cas []Certificate, crls []CRL) {
	return lasting(r.CAs, func(c Certificate) (string, time.Time) { return c.Subject, c.NotAfter }),
		lasting(r.CRLs, func(c CRL) (string, time.Time) { return c.Issuer, c.Expires })
}

func lasting[T any](list []T, read func(T) (name string, end time.Time)) (kept []T) {
	places := map[string]int{}
	for _, one := range list {
		name, end := read(one)
		i, replaced := places[name]
		switch {
		case end.IsZero():
		case !replaced:
			places[name], kept = len(kept), append(kept, one)
		default:
			if _, other := read(kept[i]); end.After(other) {
				kept[i] = one
			}
		}
	}
	return kept
}
