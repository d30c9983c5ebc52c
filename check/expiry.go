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
	NameMissing       Reason = "certificate-name-missing"
)

// ExpirySettings say when to warn.
type ExpirySettings struct {
	// Warn is how long before a certificate or CRL expires the check begins to warn; see
	// Expiry.Margin for a short lifetime.
	Warn time.Duration `yaml:"warn" min:"1h" max:"3650d"`
	// Names are the names that agents use for the master, as far as puppet.conf has them.
	Names []string `yaml:"-"`
}

func expiry() Check {
	return Check{
		Name:     CheckExpiry,
		Severity: Warn,
		Shared:   true,
		Reasons: slices.Concat(
			causes(OfPool, "", "the files that are in use are valid for longer",
				row{
					reason: ExpiresSoon,
					begins: "a certificate or list ends soon",
					hint: "renew it in time, a host's certificate with its dns_alt_names; one of less than 120 days renews " +
						"itself if the agent runs and ca.conf has allow-auto-renewal",
				},
				row{
					reason: Expired,
					begins: "a certificate or CRL has expired",
					hint:   "renew it; if nothing uses it any more, remove it from the bundle",
				},
			),
			causes(OfMaster, "", "the master shows the certificate that is on disk",
				row{
					reason: CertificateOnDisk,
					begins: "the certificate on disk is not the one that the master shows",
					hint:   "pmcheck with-hold -- systemctl restart UNIT, as check unit names it",
				},
			),
			causes(OfPool, "", "the certificate has the name, or puppet.conf does not",
				row{
					reason: NameMissing,
					begins: "the master's certificate lacks a name that agents use",
					hint: "renew the certificate with the name in dns_alt_names, or remove it where it is set; if it is the " +
						"host's own, set ssl-cert in webserver.conf to its certificate",
				},
			),
		),
		Settings: ExpirySettings{Warn: 30 * 24 * time.Hour},
		Observe:  Observe(func(s ExpirySettings, _ *Seen) Observer { return s.judge }),
	}
}

// Expiry returns the settings of the check expiry.
func (l List) Expiry() ExpirySettings { return settingsOf[ExpirySettings](l) }

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
	warn := func(why Reason, detail string, args ...any) Finding {
		f.State = StateWarn
		f.Reason = why
		f.Detail = fmt.Sprintf(detail, args...)
		return f
	}

	if fault := faultOf(r.Anonymous); fault != nil {
		f.State = StateBad
		f.Reason = fault.Reason
		f.Detail = "the master is asked without a client certificate: " + fault.Error()
		return f
	}
	all := r.Expiries()
	if len(all) == 0 {
		return f.unknown("no certificate has been read")
	}

	first, late := s.first(all, now)
	left := first.Until.Sub(now)
	end := first.Until.UTC().Format(time.RFC3339)
	f.Value = fmt.Sprintf("%s, in %s: %s", end, text.Age(left), first)
	if left <= 0 {
		f.Value = fmt.Sprintf("%s: %s", end, first)
	}

	// What the master does with certificates is its verdict, whatever our own lists say.
	if doubt := faultOf(r.Doubt); doubt != nil {
		return warn(doubt.Reason, "%v", doubt)
	}
	if left <= 0 {
		f.State = StateBad
		f.Reason = Expired
		f.Detail = fmt.Sprintf("%s expired at %s", first, end)
		return f
	}
	if unused := faultOf(r.Warning); unused != nil {
		return warn(unused.Reason, "the files are not all in use as they are on disk: %v", unused)
	}
	if r.renewed() {
		return warn(CertificateOnDisk, "the certificate %s was renewed on disk, not loaded: the one in use expires at %s",
			r.Own.Subject.CommonName, r.Server.NotAfter.UTC().Format(time.RFC3339))
	}
	if lacking := r.lacking(s.Names); len(lacking) > 0 {
		return warn(NameMissing, "the master's certificate has only %s, not %s, of puppet.conf or probe.certname",
			text.Printable(strings.Join(r.names(), ", "), maxNames), strings.Join(lacking, ", "))
	}
	if late {
		return warn(ExpiresSoon, "%s expires at %s", first, end)
	}
	return f
}

// first returns what expires first, and whether it is late: less is left than its margin. What is late comes before
// what is not, which may have a shorter lifetime and less left.
func (s ExpirySettings) first(all []Expiry, now time.Time) (first Expiry, late bool) {
	var list []Expiry
	for _, e := range all {
		if e.Until.Sub(now) < e.Margin(s.Warn) {
			list = append(list, e)
		}
	}

	late = len(list) > 0
	if !late {
		list = all
	}
	return slices.MinFunc(list, func(a, b Expiry) int { return a.Until.Compare(b.Until) }), late
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
		has := slices.Contains(r.Server.DNSNames, name) || r.Server.VerifyHostname(name) == nil
		if !has && name != r.Lacks {
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

// renewed reports whether the host's certificate on disk differs from the certificate that the master
// loaded when it started. A master whose certificate has another name does not use the host's.
func (r Result) renewed() bool {
	if r.Own == nil || r.Server == nil {
		return false
	}
	sameName := r.Own.Subject.CommonName == r.Server.Subject.CommonName
	return sameName && !r.Own.Equal(r.Server)
}

// Expiry is a certificate or a CRL in use.
type Expiry struct {
	Of     string    `json:"kind"`       // server, own, ca or crl
	Name   string    `json:"name"`       // common name of the subject; of a CRL, of the issuer
	Serial string    `json:"serial"`     // hexadecimal; of a CRL its place in the file
	From   time.Time `json:"not_before"` // the beginning of its validity
	Until  time.Time `json:"not_after"`  // the end of its validity
}

// String says what it is, in words.
func (e Expiry) String() string {
	words := map[string]string{
		"server": "the master's certificate ",
		"own":    "our certificate ",
		"ca":     "the CA certificate ",
		"crl":    "the CRL of ",
	}
	return words[e.Of] + e.Name
}

// Margin returns how long before the end a warning begins: warn, or a quarter of a short lifetime if
// that is less. What lives for less than 120 days is renewed by a program, for example by the agent
// of Puppet 8, 30 days before the end of 90, and would be warned of at each renewal.
func (e Expiry) Margin(warn time.Duration) time.Duration {
	life := e.Until.Sub(e.From)
	isShort := !e.From.IsZero() && life < 120*24*time.Hour
	if isShort {
		return min(warn, life/4)
	}
	return warn
}

// Expiries returns the certificates and CRLs whose end matters. CA certificates of the same name replace each
// other, and so do CRLs: of these, the last to expire is returned, in the place of the first. A CRL without
// an end is left out.
func (r Result) Expiries() (list []Expiry) {
	if r.Server != nil {
		list = replace(list, expiryOf("server", r.Server))
	}
	if r.Own != nil {
		list = replace(list, expiryOf("own", r.Own))
	}

	for _, ca := range r.CAs {
		list = replace(list, expiryOf("ca", ca))
	}
	for i, crl := range r.CRLs {
		list = replace(list, Expiry{
			Of:     "crl",
			Name:   printableName(crl.Issuer),
			Serial: strconv.Itoa(i),
			From:   crl.ThisUpdate,
			Until:  crl.NextUpdate,
		})
	}
	return list
}

func expiryOf(what string, c *x509.Certificate) Expiry {
	return Expiry{
		Of:     what,
		Name:   printableName(c.Subject),
		Serial: serial(c),
		From:   c.NotBefore,
		Until:  c.NotAfter,
	}
}

// replace adds e to a list, in the place of what e replaces. It leaves out what is replaced already, or has no end.
func replace(list []Expiry, e Expiry) []Expiry {
	if e.Until.IsZero() {
		return list
	}

	i := slices.IndexFunc(list, func(other Expiry) bool { return other.Of == e.Of && other.Name == e.Name })
	if i < 0 {
		return append(list, e)
	}
	if e.Until.After(list[i].Until) {
		list[i] = e
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
