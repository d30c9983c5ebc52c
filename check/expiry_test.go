package check_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestFirstToExpireDecides(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	own := func(d time.Duration) check.Result {
		return check.Result{Own: &check.Certificate{Subject: "own", NotAfter: in(d)}}
	}
	with := func(r check.Result, change func(*check.Result)) check.Result { change(&r); return r }
	tests := []struct {
		name   string
		result check.Result
		want   check.State
		reason check.Reason
		names  string // in the detail
	}{
		{"nothing read", check.Result{}, check.StateNone, check.NotKnown, "no certificate"},
		{"not offered", with(own(300*day), func(r *check.Result) {
			r.Anonymous = &puppetclient.Error{Reason: puppetclient.OwnFiles, Err: errors.New("the key")}
		}), check.StateBad, check.OwnFiles, "without a client certificate: the key"},
		{"far away", own(300 * day), check.StateOK, check.OK, ""},
		{"exactly at the threshold", own(30 * day), check.StateOK, check.OK, ""},
		{"soon", own(30*day - 1), check.StateWarn, check.ExpiresSoon, "our certificate own"},
		{"in an hour", own(time.Hour), check.StateWarn, check.ExpiresSoon, "our certificate own"},
		{"now", own(0), check.StateBad, check.Expired, "our certificate own"},
		{"long ago", own(-300 * day), check.StateBad, check.Expired, "our certificate own"},
		{"the master's", with(own(300*day), func(r *check.Result) {
			r.TLS = &check.TLS{Server: check.Certificate{Subject: "puppet1", NotAfter: in(day)}}
		}), check.StateWarn, check.ExpiresSoon, "the master's certificate puppet1"},
		{"a CA", with(own(300*day), func(r *check.Result) {
			r.CAs = []check.Certificate{{Subject: "root", NotAfter: in(400 * day)}, {Subject: "sub", NotAfter: in(-day)}}
		}), check.StateBad, check.Expired, "the CA certificate sub"},
		{"a CRL", with(own(300*day), func(r *check.Result) {
			r.CRLs = []check.CRL{{Issuer: "root", Expires: in(400 * day)}, {Issuer: "sub", Expires: in(2 * day)}}
		}), check.StateWarn, check.ExpiresSoon, "the CRL of sub"},
		{"the first decides", with(own(10*day), func(r *check.Result) {
			r.CRLs = []check.CRL{{Issuer: "root", Expires: in(5 * day)}}
		}), check.StateWarn, check.ExpiresSoon, "the CRL of root"},
		{"a CRL without an end", with(own(300*day), func(r *check.Result) {
			r.CRLs = []check.CRL{{Issuer: "root"}}
		}), check.StateOK, check.OK, ""},
		{"a CRL and a CA that were replaced", with(own(300*day), func(r *check.Result) {
			r.CAs = []check.Certificate{{Subject: "root", NotAfter: in(-day)}, {Subject: "root", NotAfter: in(400 * day)}}
			r.CRLs = []check.CRL{{Issuer: "root", Expires: in(400 * day)}, {Issuer: "root", Expires: in(-day)}}
		}), check.StateOK, check.OK, ""},
	}
	expiry, _ := check.All().Lookup(check.CheckExpiry)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := expiry.Observe()(tt.result, now)
			if got.State != tt.want || got.Reason != tt.reason || !strings.Contains(got.Detail, tt.names) {
				t.Errorf("%s, %s, %q; want %s, %s, %q", got.State, got.Reason, got.Detail, tt.want, tt.reason, tt.names)
			}
			if got.Health != "" || (got.State == check.StateOK) != (got.Detail == "") {
				t.Errorf("health %q, detail %q", got.Health, got.Detail)
			}
		})
	}
	expiry, _ = check.All().Lookup(check.CheckExpiry)
	expiry.Settings.(*check.ExpirySettings).Warn = 5 * day
	if got := expiry.Observe()(own(10*day), now); got.State != check.StateOK || got.Threshold != "5d" {
		t.Errorf("ten days left, with a warning at five: %s, threshold %q", got.State, got.Threshold)
	}
}

func TestShortLifetimesWarnLate(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// lives returns a certificate with that lifetime, of which so much is left.
	lives := func(lifetime, left time.Duration) *check.Certificate {
		return &check.Certificate{Subject: "puppet1", NotBefore: now.Add(left - lifetime), NotAfter: now.Add(left)}
	}
	crl := func(lifetime, left time.Duration) []check.CRL {
		return []check.CRL{{Issuer: "root", Updated: now.Add(left - lifetime), Expires: now.Add(left)}}
	}
	tests := []struct {
		name   string
		result check.Result
		reason check.Reason
		names  string // in the value or the detail
	}{
		{"five years, 31 days left", check.Result{Own: lives(1826*day, 31*day)}, check.OK, ""},
		{"five years, 29 days left", check.Result{Own: lives(1826*day, 29*day)}, check.ExpiresSoon, ""},
		{"120 days, 29 days left", check.Result{Own: lives(120*day, 29*day)}, check.ExpiresSoon, ""},
		{"90 days, 29 days left: the agent renews now", check.Result{Own: lives(90*day, 29*day)}, check.OK, ""},
		{"90 days, 22 days left", check.Result{Own: lives(90*day, 22*day)}, check.RenewalOverdue, "was not renewed"},
		{"a week, two days left", check.Result{Own: lives(7*day, 2*day)}, check.OK, ""},
		{"a week, one day left", check.Result{Own: lives(7*day, day)}, check.RenewalOverdue, "lives for 7d"},
		{"a week, over", check.Result{Own: lives(7*day, -1)}, check.Expired, ""},
		{"renewed on disk, not loaded", check.Result{
			Own: lives(90*day, 89*day),
			TLS: &check.TLS{Server: *lives(90*day, 20*day)},
		}, check.CertificateOnDisk, "in 20d: the master's certificate"},
		{"not renewed, and loaded", check.Result{
			Own: lives(90*day, 20*day),
			TLS: &check.TLS{Server: *lives(90*day, 20*day)},
		}, check.RenewalOverdue, ""},
		{"a CRL of a week that is not fetched any more", check.Result{CRLs: crl(7*day, day)}, check.RenewalOverdue,
			"the CRL of root"},
		{"a CA of 90 days", check.Result{CAs: []check.Certificate{*lives(90*day, 20*day)}}, check.ExpiresSoon,
			"the CA certificate"},
		{"a short one in time does not hide a long one", check.Result{
			Own:  lives(90*day, 25*day),
			CRLs: crl(1826*day, 28*day),
		}, check.ExpiresSoon, "the CRL of root"},
		{"no beginning, 29 days left", check.Result{Own: &check.Certificate{NotAfter: now.Add(29 * day)}}, check.ExpiresSoon,
			""},
	}
	expiry, _ := check.All().Lookup(check.CheckExpiry)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := expiry.Observe()(tt.result, now)
			if got.Reason != tt.reason || !strings.Contains(got.Value+got.Detail, tt.names) {
				t.Errorf("%s, %q, %q; want %s, %q", got.Reason, got.Value, got.Detail, tt.reason, tt.names)
			}
		})
	}
}

func TestFilesThatAreNotInUse(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	certificate := func(subject, issuer, serial string) *check.Certificate {
		return &check.Certificate{Subject: subject, Issuer: issuer, Serial: serial, NotAfter: now.AddDate(1, 0, 0)}
	}
	soon := []check.CRL{{Issuer: "ca", Expires: now.AddDate(0, 0, 1)}}
	expired := []check.CRL{{Issuer: "ca", Expires: now}}
	damaged := errors.New("crl.pem: no PEM block")
	tests := []struct {
		name       string
		own, shown *check.Certificate
		crls       []check.CRL
		warning    error
		want       check.State
		reason     check.Reason
	}{
		{"the same", certificate("a", "ca", "1"), certificate("a", "ca", "1"), nil, nil, check.StateOK, check.OK},
		{"renewed", certificate("a", "ca", "2"), certificate("a", "ca", "1"), nil, nil, check.StateWarn,
			check.CertificateOnDisk},
		{"issued by another CA", certificate("a", "new", "1"), certificate("a", "ca", "1"), nil, nil, check.StateWarn,
			check.CertificateOnDisk},
		{"of another host", certificate("a", "ca", "2"), certificate("b", "ca", "1"), nil, nil, check.StateOK, check.OK},
		{"nothing on disk", nil, certificate("a", "ca", "1"), nil, nil, check.StateOK, check.OK},
		{"no connection", certificate("a", "ca", "1"), nil, nil, nil, check.StateOK, check.OK},
		{"a damaged file", certificate("a", "ca", "1"), certificate("a", "ca", "1"), nil, damaged, check.StateWarn,
			check.FilesNotUsed},
		{"a damaged file, to be repaired before a restart", certificate("a", "ca", "2"), certificate("a", "ca", "1"), nil,
			damaged, check.StateWarn, check.FilesNotUsed},
		{"renewed, and a CRL expires soon", certificate("a", "ca", "2"), certificate("a", "ca", "1"), soon, nil,
			check.StateWarn, check.CertificateOnDisk},
		{"renewed, and a CRL has expired", certificate("a", "ca", "2"), certificate("a", "ca", "1"), expired, damaged,
			check.StateBad, check.Expired},
	}
	expiry, _ := check.All().Lookup(check.CheckExpiry)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := check.Result{Own: tt.own, CRLs: tt.crls, Warning: tt.warning}
			if tt.shown != nil {
				r.TLS = &check.TLS{Server: *tt.shown}
			}
			got := expiry.Observe()(r, now)
			if got.State != tt.want || got.Reason != tt.reason || got.Health != "" {
				t.Errorf("%s, %s, health %q; want %s, %s", got.State, got.Reason, got.Health, tt.want, tt.reason)
			}
			if (got.State == check.StateOK) != (got.Detail == "") {
				t.Errorf("detail %q", got.Detail)
			}
		})
	}
}

func TestRenewedCertificateIsLoadedByARestart(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	expiry, _ := check.All().Lookup(check.CheckExpiry)
	probe := func() check.Finding {
		r := p.Probe(context.Background())
		wantReason(t, r, check.OK)
		return expiry.Observe()(r, time.Now())
	}
	if got := probe(); got.State != check.StateOK {
		t.Fatalf("before: %s, %s", got.State, got.Detail)
	}
	renewed, err := m.CA.Issue(checktest.Template{Name: m.Name})
	if err != nil {
		t.Fatal(err)
	}
	install(t, m, renewed)
	if got := probe(); got.Reason != check.CertificateOnDisk {
		t.Fatalf("renewed, not loaded: %s, %s", got.Reason, got.Detail)
	}
	if err := m.Load(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Handshake = time.Nanosecond
	if got := probe(); got.State != check.StateOK {
		t.Errorf("loaded: %s, %s", got.Reason, got.Detail)
	}
}

func TestNamesThatAgentsUseMustBeInTheCertificate(t *testing.T) {
	for _, tt := range []struct {
		names, wanted []string
		want          check.Reason
	}{
		{[]string{"m1.example.org", "puppet"}, []string{"puppet"}, check.OK},
		{[]string{"m1.example.org"}, nil, check.OK},
		{[]string{"m1.example.org"}, []string{"puppet", "m1.example.org"}, check.NameMissing},
		{[]string{"*.example.org"}, []string{"puppet.example.org"}, check.OK},
		{nil, []string{"puppet"}, check.OK}, // a certificate of the common name alone
	} {
		checks := check.All()
		check.Settings[check.ExpirySettings](checks).Names = tt.wanted
		expiry, _ := checks.Lookup(check.CheckExpiry)
		shown := check.Certificate{Names: tt.names, NotAfter: time.Now().Add(9999 * time.Hour)}
		r := check.Result{TLS: &check.TLS{Server: shown}}
		if got := expiry.Observe()(r, time.Now()); got.Reason != tt.want || got.Health != "" {
			t.Errorf("%v, wanted %v: %s, %q", tt.names, tt.wanted, got.Reason, got.Detail)
		}
	}
}
