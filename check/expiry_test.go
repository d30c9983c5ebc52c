package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestExpiryWarnsOfTheFirstToEnd(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	type answer = puppetclient.Answer
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// lives returns a certificate with that lifetime, of which so much is left; loaded is what the master shows.
	lives := func(lifetime, left time.Duration) *check.Certificate {
		return &check.Certificate{Subject: "m1", Names: []string{"m1.example.org", "*.pool.example.org"},
			NotBefore: now.Add(left - lifetime), NotAfter: now.Add(left)}
	}
	loaded := func(lifetime, left time.Duration) *check.TLS { return &check.TLS{Server: *lives(lifetime, left)} }
	from := func(issuer, serial string) check.Certificate {
		c := *lives(5*year, year)
		c.Issuer, c.Serial = issuer, serial
		return c
	}
	ours, shown := from("ca", "2"), check.TLS{Server: from("ca", "1")}
	elsewhere := from("ca", "3")
	elsewhere.Subject = "m2"
	ca := func(subject string, left time.Duration) check.Certificate {
		c := *lives(5*year, left)
		c.Subject = subject
		return c
	}
	crl := func(issuer string, lifetime, left time.Duration) check.CRL {
		return check.CRL{Issuer: issuer, Updated: now.Add(left - lifetime), Expires: now.Add(left)}
	}
	damaged := errors.New("crl.pem: no PEM block")
	unreadable := &puppetclient.Error{Reason: puppetclient.OwnFiles, Err: errors.New("the key")}
	for _, tt := range []struct {
		name   string
		answer answer
		reason check.Reason
		says   string // in the value or the detail
	}{
		{"nothing read", answer{}, check.NotKnown, "no certificate"},
		{"not offered", answer{Own: lives(5*year, 2*day), Anonymous: unreadable}, puppetclient.OwnFiles,
			"without a client certificate: the key"},
		{"exactly at the threshold", answer{Own: lives(5*year, 30*day)}, check.OK, "in 30d: our certificate m1"},
		{"soon", answer{Own: lives(5*year, 30*day-1)}, check.ExpiresSoon, "our certificate m1"},
		{"now", answer{Own: lives(5*year, 0)}, check.Expired, "our certificate m1"},
		{"the master's", answer{TLS: loaded(5*year, day)}, check.ExpiresSoon, "the master's certificate m1"},
		{"a CA", answer{CAs: []check.Certificate{ca("root", year), ca("sub", -day)}}, check.Expired, "CA certificate sub"},
		{"a CRL", answer{CRLs: []check.CRL{crl("root", year, year), crl("sub", year, 2*day)}}, check.ExpiresSoon,
			"the CRL of sub"},
		{"the first decides", answer{Own: lives(5*year, 10*day), CRLs: []check.CRL{crl("root", year, 5*day)}},
			check.ExpiresSoon, "the CRL of root"},
		{"a CRL without an end", answer{Own: lives(5*year, year), CRLs: []check.CRL{{Issuer: "root"}}}, check.OK, ""},
		{"replaced", answer{CAs: []check.Certificate{ca("root", -day), ca("root", year)},
			CRLs: []check.CRL{crl("root", year, year), crl("root", year, -day)}}, check.OK, ""},

		{"90 days, 29 left: the agent renews now", answer{Own: lives(90*day, 29*day)}, check.OK, ""},
		{"90 days, 22 left", answer{Own: lives(90*day, 22*day)}, check.ExpiresSoon, ""},
		{"a week, one day left", answer{Own: lives(7*day, day)}, check.ExpiresSoon, "24h"},
		{"a short one in time does not hide a long one", answer{Own: lives(90*day, 25*day),
			CRLs: []check.CRL{crl("root", 5*year, 28*day)}}, check.ExpiresSoon, "the CRL of root"},

		{"renewed on disk, not loaded", answer{Own: lives(90*day, 89*day), TLS: loaded(90*day, 20*day)},
			check.CertificateOnDisk, "in 20d: the master's certificate"},
		{"another serial", answer{Own: &ours, TLS: &shown}, check.CertificateOnDisk, "m1 was renewed"},
		{"of another host", answer{Own: &elsewhere, TLS: &shown}, check.OK, ""},
		{"a damaged file, before a restart", answer{Own: &ours, TLS: &shown, Warning: damaged}, check.FilesNotUsed, "no PEM"},
		{"and one has expired", answer{Own: &ours, TLS: &shown, Warning: damaged, CRLs: []check.CRL{crl("ca", year, 0)}},
			check.Expired, ""},
	} {
		got := lookup(check.All(), check.CheckExpiry).Observe()(check.Result{Answer: tt.answer}, now)
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
		checks, now := check.All(), time.Now()
		s := check.Settings[check.ExpirySettings](checks)
		s.Warn, s.Names = 120*time.Hour, []string{tt.wanted}
		shown := check.TLS{Server: check.Certificate{Names: tt.names, NotAfter: now.Add(240 * time.Hour)}}
		got := lookup(checks, check.CheckExpiry).Observe()(check.Result{Answer: puppetclient.Answer{TLS: &shown}}, now)
		if got.Reason != tt.reason || got.Health != "" {
			t.Errorf("%s in %v: %s, %q", tt.wanted, tt.names, got.Reason, got.Detail)
		}
	}
}
