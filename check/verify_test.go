package check_test

import (
	"context"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestBadServerCertificateIsAFault(t *testing.T) {
	day := 24 * time.Hour
	tests := []struct {
		name     string
		template checktest.Template
		ask      string // server name; empty means the certname
		revoke   bool
		want     check.Reason
	}{
		{name: "good", template: checktest.Template{Name: certname}, want: check.OK},
		{name: "common name only", template: checktest.Template{Name: certname, CNOnly: true}, want: check.OK},
		{name: "common name only, another name", template: checktest.Template{Name: "other.example.test", CNOnly: true},
			want: check.ServerCertName},
		{name: "another name", template: checktest.Template{Name: "other.example.test"}, want: check.ServerCertName},
		{name: "expired", template: checktest.Template{Name: certname, NotBefore: time.Now().Add(-2 * day),
			NotAfter: time.Now().Add(-day)}, want: check.ServerCertExpired},
		{name: "not yet valid", template: checktest.Template{Name: certname, NotBefore: time.Now().Add(day),
			NotAfter: time.Now().Add(2 * day)}, want: check.ServerCertNotYetValid},
		{name: "revoked", template: checktest.Template{Name: certname}, revoke: true, want: check.ServerCertRevoked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			own := m.Leaf
			leaf, err := m.CA.Issue(tt.template)
			if err != nil {
				t.Fatal(err)
			}
			if tt.revoke {
				m.CA.Revoke(leaf.Certificate)
			}
			serve(t, m, leaf)
			install(t, m, own)
			wantReason(t, newProber(t, m).Probe(context.Background()), tt.want)
		})
	}
}

func TestServerOfAnotherCAIsUntrusted(t *testing.T) {
	m, stranger := newMaster(t), newMaster(t)
	p := newProber(t, m)
	p.Address = stranger.Address()
	wantReason(t, p.Probe(context.Background()), check.ServerCertUntrusted)
}

func TestRevocationIsCheckedAsDeepAsConfigured(t *testing.T) {
	root, err := checktest.NewCA("Puppet Root CA")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		// whether the issuer's CRL has expired, and the root's is not in the file
		leafExpired, rootMissing bool
		revocation               puppetclient.Revocation
		want                     check.Reason
	}{
		{"chain, all good", false, false, puppetclient.RevocationChain, check.OK},
		{"chain is the default", false, true, "", check.CRLMissing},
		{"chain, root's list missing", false, true, puppetclient.RevocationChain, check.CRLMissing},
		{"leaf, root's list missing", false, true, puppetclient.RevocationLeaf, check.OK},
		{"leaf, issuer's list expired", true, false, puppetclient.RevocationLeaf, check.CRLExpired},
		{"off, issuer's list expired", true, false, puppetclient.RevocationOff, check.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			issuing, err := root.Intermediate("Puppet Issuing CA")
			if err != nil {
				t.Fatal(err)
			}
			m, err := checktest.NewMasterWithCA(t.TempDir(), certname, "127.0.0.1:0", issuing)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			expires := time.Now().Add(time.Hour)
			if tt.leafExpired {
				expires = time.Now().Add(-time.Hour)
			}
			from := *issuing
			if tt.rootMissing {
				from.Parent = nil
			}
			crl, err := from.CRL(expires)
			if err != nil {
				t.Fatal(err)
			}
			write(t, m.Files().CRL, crl)
			p := newProber(t, m)
			p.Credentials.Files.Revocation = tt.revocation
			wantReason(t, p.Probe(context.Background()), tt.want)
		})
	}
}

func TestMissingCRLFileMattersOnlyWhenItIsUsed(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	p.Credentials.Files.CRL = m.Dir + "/missing.pem"
	r := p.Probe(context.Background())
	wantReason(t, r, check.OK)
	wantTrouble(t, r.Warning, check.OwnFilesMissing)
	p = newProber(t, m)
	p.Credentials.Files.CRL = m.Dir + "/missing.pem"
	p.Credentials.Files.Revocation = puppetclient.RevocationOff
	r = p.Probe(context.Background())
	if wantReason(t, r, check.OK); r.Warning != nil {
		t.Error(r.Warning)
	}
}

// serve makes the master show leaf; install makes the probe offer leaf.
func serve(t *testing.T, m *checktest.Master, leaf *checktest.Leaf) {
	t.Helper()
	m.Leaf = leaf
	if err := m.WriteFiles(); err != nil {
		t.Fatal(err)
	}
	if err := m.Load(); err != nil {
		t.Fatal(err)
	}
}

func install(t *testing.T, m *checktest.Master, leaf *checktest.Leaf) {
	t.Helper()
	key, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	write(t, m.Files().Certificate, leaf.CertificatePEM())
	write(t, m.Files().Key, key)
}
