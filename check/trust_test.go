package check_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Certificates, of the master or of this host.
var (
	past, future = time.Now().Add(-24 * time.Hour), time.Now().Add(24 * time.Hour)
	expired      = checktest.Template{Name: certname, NotBefore: past.Add(-24 * time.Hour), NotAfter: past}
	tooEarly     = checktest.Template{Name: certname, NotBefore: future, NotAfter: future.Add(24 * time.Hour)}
	good         = checktest.Template{Name: certname}
	other        = checktest.Template{Name: "other.example.test"}
)

// TestBadCertificates: the master's is a fault. This host's is not offered, since what the master would
// refuse says nothing about the master.
func TestBadCertificates(t *testing.T) {
	const revoked, foreign = "revoked", "of another CA"
	for _, tt := range []struct {
		name       string
		template   checktest.Template
		master, us check.Reason // as the certificate of the master, and as ours
	}{
		{"common name only", checktest.Template{Name: certname, CNOnly: true}, check.OK, check.OK},
		{"another common name", checktest.Template{Name: other.Name, CNOnly: true}, puppetclient.ServerCertName, check.OK},
		{"another name", other, puppetclient.ServerCertName, check.OK},
		{"expired", expired, puppetclient.ServerCertExpired, puppetclient.OwnCertExpired},
		{"not yet valid", tooEarly, puppetclient.ServerCertNotYetValid, puppetclient.OwnCertNotYetValid},
		{revoked, good, puppetclient.ServerCertRevoked, puppetclient.OwnCertRevoked},
		{foreign, good, puppetclient.ServerCertUntrusted, puppetclient.OwnCertForeign},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			own, ca := m.Leaf, m.CA
			if tt.name == foreign {
				ca = must(checktest.NewCA("Another CA"))
			}
			leaf := must(ca.Issue(tt.template))
			if tt.name == revoked {
				ca.Revoke(leaf.Certificate)
			}
			serve(t, m, leaf)
			install(t, m, own)
			wantReason(t, newProber(t, m).Probe(t.Context()), tt.master)
			serve(t, m, own)
			install(t, m, leaf)
			r := newProber(t, m).Probe(t.Context())
			wantReason(t, r, check.OK)
			wantTrouble(t, r.Anonymous, tt.us)
		})
	}
}

func TestExpiredCRLIsReportedOnEitherSide(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	fresh, stale := must(os.ReadFile(m.Files().CRL)), must(m.CA.CRL(past))
	write(t, m.Files().CRL, stale)
	m.Load()
	r := p.Probe(t.Context())
	wantReason(t, r, puppetclient.CRLExpired)
	if !strings.Contains(r.Fault.Error(), m.CA.Certificate.Subject.CommonName) {
		t.Errorf("the fault does not name the CRL: %v", r.Fault)
	}
	// Ours is good again, since the newest counts; the server's is not.
	write(t, m.Files().CRL, slices.Concat(fresh, stale))
	wantReason(t, p.Probe(t.Context()), puppetclient.OwnCertRefused)
	write(t, m.Files().CRL, fresh)
	m.Load()
	wantReason(t, p.Probe(t.Context()), check.OK)
}

func TestRevocationIsCheckedAsDeepAsConfigured(t *testing.T) {
	root := must(checktest.NewCA("Puppet Root CA"))
	for _, tt := range []struct {
		name string
		// whether the issuer's CRL has expired, and the root's is not in the file
		leafExpired, rootMissing bool
		revocation               puppetclient.Revocation
		want                     check.Reason
	}{
		{"chain is the default", false, true, "", puppetclient.CRLMissing},
		{"leaf, root's list missing", false, true, puppetclient.RevocationLeaf, check.OK},
		{"leaf, issuer's list expired", true, false, puppetclient.RevocationLeaf, puppetclient.CRLExpired},
		{"off, issuer's list expired", true, false, puppetclient.RevocationOff, check.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			issuing := must(root.Intermediate("Puppet Issuing CA"))
			m := must(checktest.NewMasterWithCA(t.TempDir(), certname, "127.0.0.1:0", issuing))
			t.Cleanup(func() { m.Close() })
			from, expires := *issuing, future
			if tt.leafExpired {
				expires = past
			}
			if tt.rootMissing {
				from.Parent = nil
			}
			write(t, m.Files().CRL, must(from.CRL(expires)))
			p := newProber(t, m)
			p.Credentials.Files.Revocation = tt.revocation
			wantReason(t, p.Probe(t.Context()), tt.want)
		})
	}
}

func TestBadFilesAreNoFault(t *testing.T) {
	type files = puppetclient.Files
	const invalid = puppetclient.OwnFilesInvalid
	for _, tt := range []struct {
		name   string
		damage func(f files)
		want   check.Reason
		text   string // in the error
	}{
		{"empty certificate", func(f files) { os.Truncate(f.Certificate, 0) }, invalid,
			"certificate file is not complete PEM: 0 BEGIN"},
		{"half a key", func(f files) { os.Truncate(f.Key, 100) }, invalid, "the key file is not complete"},
		{"half a CRL", func(f files) { os.Truncate(f.CRL, 100) }, invalid, "the CRL file is not complete"},
		{"half a bundle", func(f files) { os.Truncate(f.CA, 100) }, invalid, "the CA file is not complete"},
		{"key of another certificate", func(f files) {
			write(t, f.Key, must(must(must(checktest.NewCA("Another CA")).Issue(good)).KeyPEM()))
		}, invalid, "private key does not match public key"},
		{"no CRL in the CRL file", func(f files) { write(t, f.CRL, must(os.ReadFile(f.CA))) }, invalid, "no X509 CRL in"},
		{"no root in the CA file", func(f files) { write(t, f.CA, must(os.ReadFile(f.Certificate))) },
			invalid, "no self-signed root"},
		{"missing", func(f files) { os.Remove(f.CRL) }, puppetclient.OwnFilesMissing, "no such file"},
		{"directory", func(f files) { os.Remove(f.CRL); os.Mkdir(f.CRL, 0o755) }, puppetclient.OwnFiles,
			"is not a regular file"},
		{"huge", func(f files) { os.Truncate(f.CRL, 1<<30) }, puppetclient.OwnFiles, "larger than 8 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.damage(m.Files())
			r := newProber(t, m).Probe(t.Context())
			wantReason(t, r, check.OK)
			wantTrouble(t, r.Warning, tt.want)
			if !strings.Contains(r.Warning.Error(), tt.text) || !strings.Contains(r.Warning.Error(), m.Dir) {
				t.Errorf("%q, want it to contain %q and the path of the file", r.Warning, tt.text)
			}
			if (r.Own == nil) != (r.Anonymous != nil) {
				t.Errorf("certificate %v, anonymous: %v", r.Own, r.Anonymous)
			}
		})
	}
}

// TestWithoutAnyFileTheMasterIsStillAsked: on Debian, a user outside the group puppet can read none
// of them. The dates and the name in the master's certificate are verified all the same.
func TestWithoutAnyFileTheMasterIsStillAsked(t *testing.T) {
	for _, tt := range []struct {
		template checktest.Template
		want     check.Reason
	}{
		{good, check.OK},
		{other, puppetclient.ServerCertName},
		{expired, puppetclient.ServerCertExpired},
	} {
		want := tt.want
		m := newMaster(t)
		serve(t, m, must(m.CA.Issue(tt.template)))
		if err := os.RemoveAll(m.Dir); err != nil {
			t.Fatal(err)
		}
		p := newProber(t, m)
		r := p.Probe(t.Context())
		wantReason(t, r, want)
		if want == check.OK {
			wantTrouble(t, r.Anonymous, puppetclient.OwnFilesMissing)
			os.MkdirAll(filepath.Dir(m.Files().CA), 0o755)
			write(t, m.Files().CA, m.CA.Bundle())
			if r = p.Probe(t.Context()); len(r.CAs) != 1 {
				t.Error("the CA is not used before the other files are there")
			}
		}
		if _, err := p.Credentials.TLS(t.Context(), "db.example.test"); err == nil {
			t.Error("a connection to another server would not be verified")
		}
	}
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	renewed, whole := must(m.CA.Issue(other)), m.Leaf.CertificatePEM()
	path := m.Files().Certificate
	for _, step := range []struct {
		name    string
		do      func()
		subject string // in use
		warning bool
	}{
		{"at the start", func() {}, certname, false},
		{"cut", func() { write(t, path, whole[:200]) }, certname, true},
		{"cut, at the next handshake", func() { p.Handshake = time.Nanosecond }, certname, true},
		{"whole again", func() { p.Handshake = 0; write(t, path, whole) }, certname, false},
		{"renewed", func() { install(t, m, renewed) }, other.Name, false},
		{"bad", func() { write(t, path, []byte("x")) }, other.Name, true},
		{"good", func() { install(t, m, m.Leaf) }, certname, false},
	} {
		step.do()
		r := p.Probe(t.Context())
		wantReason(t, r, check.OK)
		subject := r.Own.Subject.CommonName
		if subject != step.subject || (r.Warning != nil) != step.warning ||
			step.warning && !strings.Contains(r.Warning.Error(), path) {
			t.Errorf("%s: %s, warning %v; want %s, %v", step.name, subject, r.Warning, step.subject, step.warning)
		}
	}
}

// wantTrouble fails the test unless err is one of pmcheck's own troubles, with this reason; OK means none.
func wantTrouble(t *testing.T, err error, want check.Reason) {
	t.Helper()
	got := check.OK
	if e, is := errors.AsType[*puppetclient.Error](err); is {
		got = e.Reason
	}
	if got != want || got == check.OK && err != nil {
		t.Fatalf("%v, want %s", err, want)
	}
}
