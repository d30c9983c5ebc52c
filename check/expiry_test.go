package check_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestExpiryWarnsOfTheFirstToEnd(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	type response = puppetclient.Response
	type crls = []*x509.RevocationList
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// lives returns a certificate with that lifetime, of which so much is left.
	lives := func(lifetime, left time.Duration) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "m1"}, DNSNames: []string{"m1.example.org"},
			NotBefore: now.Add(left - lifetime), NotAfter: now.Add(left), Raw: fmt.Append(nil, lifetime, left)}
	}
	named := func(name string, c *x509.Certificate) *x509.Certificate { c.Subject.CommonName = name; return c }
	ours, shown, elsewhere := lives(5*year, year), lives(4*year, year), named("m2", lives(5*year, year))
	ca := func(name string, left time.Duration) *x509.Certificate { return named(name, lives(5*year, left)) }
	crl := func(issuer string, lifetime, left time.Duration) *x509.RevocationList {
		return &x509.RevocationList{Issuer: pkix.Name{CommonName: issuer}, ThisUpdate: now.Add(left - lifetime),
			NextUpdate: now.Add(left)}
	}
	damaged := &puppetclient.Error{Reason: puppetclient.OwnFilesInvalid, Err: errors.New("crl.pem: no PEM block")}
	unreadable := &puppetclient.Error{Reason: puppetclient.OwnFiles, Err: errors.New("the key")}
	for _, tt := range []struct {
		name     string
		response response
		reason   check.Reason
		says     string // in the value or the detail
	}{
		{"nothing read", response{}, check.NotKnown, "no certificate"},
		{"not offered", response{Own: lives(5*year, 2*day), Anonymous: unreadable}, puppetclient.OwnFiles,
			"without a client certificate: the key"},
		{"exactly at the threshold", response{Own: lives(5*year, 30*day)}, check.OK, "in 30d: our certificate m1"},
		{"soon", response{Own: lives(5*year, 30*day-1)}, check.ExpiresSoon, "our certificate m1"},
		{"now", response{Own: lives(5*year, 0)}, check.Expired, "our certificate m1"},
		{"the master's", response{Server: lives(5*year, day)}, check.ExpiresSoon, "the master's certificate m1"},
		{"a CA", response{CAs: []*x509.Certificate{ca("root", year), ca("sub", -day)}}, check.Expired, "CA certificate sub"},
		{"a CRL", response{CRLs: crls{crl("root", year, year), crl("sub", year, 2*day)}}, check.ExpiresSoon,
			"the CRL of sub"},
		{"the first decides", response{Own: lives(5*year, 10*day), CRLs: crls{crl("root", year, 5*day)}},
			check.ExpiresSoon, "the CRL of root"},
		{"a CRL without an end", response{Own: lives(5*year, year), CRLs: crls{{}}}, check.OK, ""},
		{"replaced", response{CAs: []*x509.Certificate{ca("root", -day), ca("root", year)},
			CRLs: crls{crl("root", year, year), crl("root", year, -day)}}, check.OK, ""},

		{"90 days, 29 left: the agent renews now", response{Own: lives(90*day, 29*day)}, check.OK, ""},
		{"90 days, 22 left", response{Own: lives(90*day, 22*day)}, check.ExpiresSoon, ""},
		{"a week, one day left", response{Own: lives(7*day, day)}, check.ExpiresSoon, "24h"},
		{"a short one in time does not hide a long one", response{Own: lives(90*day, 25*day),
			CRLs: crls{crl("root", 5*year, 28*day)}}, check.ExpiresSoon, "the CRL of root"},

		{"renewed on disk, not loaded", response{Own: lives(90*day, 89*day), Server: lives(90*day, 20*day)},
			check.CertificateOnDisk, "in 20d: the master's certificate"},
		{"another certificate", response{Own: ours, Server: shown}, check.CertificateOnDisk, "m1 was renewed"},
		{"of another host", response{Own: elsewhere, Server: shown}, check.OK, ""},
		{"a damaged file, before a restart", response{Own: ours, Server: shown, Warning: damaged},
			puppetclient.OwnFilesInvalid, "no PEM"},
		{"and one has expired", response{Own: ours, Server: shown, Warning: damaged, CRLs: crls{crl("ca", year, 0)}},
			check.Expired, ""},
	} {
		got := check.All().Observers(new(check.Seen))[check.CheckExpiry](check.Result{Response: tt.response}, now)
		if got.Reason != tt.reason || !strings.Contains(got.Value+got.Detail, tt.says) {
			t.Errorf("%s: %s, %q, %q; want %s, %q", tt.name, got.Reason, got.Value, got.Detail, tt.reason, tt.says)
		}
		if got.Health != "" || (got.Reason == check.OK) != (got.State == check.StateOK && got.Detail == "") {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestNamesThatAgentsUseAreInTheCertificate, if it has names: else agents compare its common name with the certname.
func TestNamesThatAgentsUseAreInTheCertificate(t *testing.T) {
	names := []string{"m1.example.org", "*.pool.example.org"}
	for _, tt := range []struct {
		wanted string
		names  []string // in the certificate
		reason check.Reason
	}{
		{"m1.example.org", names, check.OK},
		{"m1.pool.example.org", names, check.OK},
		{"puppet", names, check.NameMissing},
		{"puppet", nil, check.OK},
	} {
		now := time.Now()
		all := check.All().With(check.ExpirySettings{Warn: 120 * time.Hour, Names: []string{tt.wanted}})
		shown := &x509.Certificate{DNSNames: tt.names, NotAfter: now.Add(240 * time.Hour)}
		result := check.Result{Response: puppetclient.Response{Server: shown}}
		got := all.Observers(new(check.Seen))[check.CheckExpiry](result, now)
		if got.Reason != tt.reason || got.Health != "" {
			t.Errorf("%s in %v: %s, %q", tt.wanted, tt.names, got.Reason, got.Detail)
		}
	}
}
