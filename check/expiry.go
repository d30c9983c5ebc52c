package check

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"strconv"
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
	// Expiry.Margin for those with a short lifetime.
	Warn time.Duration `yaml:"warn" min:"1h" max:"3650d"`
	// Names are the names that agents use for the master, as far as puppet.conf has them.
	Names []string `yaml:"-"`
}

func expiry() Check {
	s := &ExpirySettings{Warn: 30 * 24 * time.Hour}
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
			{NameMissing, "renew the certificate with the name in dns_alt_names, or remove it from puppet.conf; if it is the " +
				"host's own, set ssl-cert in webserver.conf to its certificate"},
		},
		Settings: s,
		Observe:  func(*Seen) Observer { return s.judge },
	}
}

// Expiry returns the settings of the check expiry, to be read or changed.
func (l List) Expiry() *ExpirySettings { return settingsOf[ExpirySettings](l) }

// judge finds the first to expire of the certificates and CRLs in the result of a
// probe, and warns ahead of time. It also warns of files on disk that are not in use: if the
// certificate in use expires soon, that is what to do something about.
//
// The finding never has a Health. If the master refuses agents because something has
// expired, it refuses the probe too, and the probe takes it out. If the master does
// not refuse them, as with the certificate of a former CA in the bundle, agents are
// still served.
func (s ExpirySettings) judge(r Result, now time.Time) Finding {
	f := Finding{Check: CheckExpiry, State: StateOK, Reason: OK, Checked: r.Asked}
	if fault := faultOf(r.Anonymous); fault != nil {
		f.State, f.Reason = StateBad, fault.Reason
		f.Detail = "the master is asked without a client certificate: " + fault.Error()
		return f
	}
	all := r.Expiries()
	if len(all) == 0 {
		return f.unknown("no certificate has been read")
	}
	late := slices.DeleteFunc(slices.Clone(all), func(e Expiry) bool { return e.Until.Sub(now) >= e.Margin(s.Warn) })
	if len(late) > 0 {
		all = late
	}
	first := slices.MinFunc(all, func(a, b Expiry) int { return a.Until.Compare(b.Until) })
	left, end := first.Until.Sub(now), first.Until.UTC().Format(time.RFC3339)
	f.Value = fmt.Sprintf("%s, in %s: %s", end, text.Age(left), first)
	switch {
	case left <= 0:
		f.Value = end + ": " + first.String()
		f.State, f.Reason, f.Detail = StateBad, Expired, first.String()+" expired at "+end
	case r.Warning != nil:
		f.State, f.Reason, f.Detail = StateWarn, FilesNotUsed, "the files on disk cannot be used: "+r.Warning.Error()
	case r.renewed():
		f.State, f.Reason = StateWarn, CertificateOnDisk
		f.Detail = fmt.Sprintf("the certificate %s was renewed on disk, not loaded: the one in use expires at %s",
			r.Own.Subject.CommonName, r.Server.NotAfter.UTC().Format(time.RFC3339))
	case len(r.lacking(s.Names)) > 0:
		f.State, f.Reason = StateWarn, NameMissing
		f.Detail = fmt.Sprintf("the master's certificate has only %s, not %s, which puppet.conf names",
			text.Printable(strings.Join(r.names(), ", "), maxNames), strings.Join(r.lacking(s.Names), ", "))
	case len(late) > 0:
		f.State, f.Reason, f.Detail = StateWarn, ExpiresSoon, first.String()+" expires at "+end
	}
	return f
}

// lacking returns the names that the master's certificate does not have: of these, and the host's own.
func (r Result) lacking(names []string) (list []string) {
	if r.Lacks != "" {
		list = append(list, r.Lacks)
	}
	if r.Server == nil || len(r.Server.DNSNames) == 0 {
		return list // agents then compare the common name
	}
	for _, name := range names {
		if !slices.Contains(r.Server.DNSNames, name) && r.Server.VerifyHostname(name) != nil && name != r.Lacks {
			list = append(list, name)
		}
	}
	return list
}

// names returns the names in the master's certificate by which agents verify it.
func (r Result) names() []string {
	if len(r.Server.DNSNames) > 0 {
		return r.Server.DNSNames
	}
	return []string{r.Server.Subject.CommonName}
}

// renewed reports whether the host's certificate on disk is another than the one that the master
// loaded when it started. A master whose certificate has another name does not use the host's.
func (r Result) renewed() bool {
	return r.Own != nil && r.Server != nil &&
		r.Own.Subject.CommonName == r.Server.Subject.CommonName && !r.Own.Equal(r.Server)
}

// Expiry is a certificate or a CRL in use.
type Expiry struct {
	Of     string    `json:"of"`     // server, own, ca or crl
	Name   string    `json:"name"`   // common name of the subject; of a CRL that of the issuer
	Serial string    `json:"serial"` // hexadecimal; of a CRL its place in the file
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
}

// String says what it is, in words.
func (e Expiry) String() string {
	words := map[string]string{
		"server": "the master's certificate ", "own": "our certificate ", "ca": "the CA certificate ", "crl": "the CRL of ",
	}
	return words[e.Of] + e.Name
}

// Margin returns how long before the end a warning begins: warn, or a quarter of a short lifetime if
// that is less. What lives for less than 120 days is renewed by a program, for example by the agent
// of Puppet 8, 30 days before the end of 90, and would be warned of at each renewal.
func (e Expiry) Margin(warn time.Duration) time.Duration {
	if life := e.Until.Sub(e.From); !e.From.IsZero() && life < 120*24*time.Hour {
		return min(warn, life/4)
	}
	return warn
}

// Expiries returns the certificates and CRLs whose end matters. CA certificates of the same name replace each
// other, and so do CRLs: of these, the last to expire is returned, in the place of the first. One without
// an end is left out.
func (r Result) Expiries() (list []Expiry) {
	add := func(e Expiry) {
		i := slices.IndexFunc(list, func(other Expiry) bool { return other.Of == e.Of && other.Name == e.Name })
		switch {
		case e.Until.IsZero():
		case i < 0:
			list = append(list, e)
		case e.Until.After(list[i].Until):
			list[i] = e
		}
	}
	certificates := func(of string, some ...*x509.Certificate) {
		for _, c := range some {
			if c != nil {
				add(Expiry{of, printableName(c.Subject), serial(c), c.NotBefore, c.NotAfter})
			}
		}
	}
	certificates("server", r.Server)
	certificates("own", r.Own)
	certificates("ca", r.CAs...)
	for i, crl := range r.CRLs {
		add(Expiry{"crl", printableName(crl.Issuer), strconv.Itoa(i), crl.ThisUpdate, crl.NextUpdate})
	}
	return list
}

// Bounds on what is kept of a certificate, in which names may be of any length. A serial number has 20 bytes at most,
// by RFC 5280.
const (
	maxName  = 200
	maxNames = 500 // bytes of all alternative names
)

func printableName(of pkix.Name) string { return text.Printable(of.CommonName, maxName) }

func serial(c *x509.Certificate) string { return text.Printable(c.SerialNumber.Text(16), maxName) }
