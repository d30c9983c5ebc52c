package check_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
)

// TestBadOwnCertificateIsNotOffered: what the master would refuse says nothing about the master.
func TestBadOwnCertificateIsNotOffered(t *testing.T) {
	other, err := checktest.NewCA("Another CA")
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	tests := []struct {
		name     string
		template checktest.Template
		issuer   func(*checktest.Master) *checktest.CA
		revoke   bool
		want     check.Reason
	}{
		{name: "good", template: checktest.Template{Name: "agent"}, want: check.OK},
		{name: "expired", template: checktest.Template{Name: "agent", NotBefore: time.Now().Add(-2 * day),
			NotAfter: time.Now().Add(-day)}, want: check.OwnCertExpired},
		{name: "not yet valid", template: checktest.Template{Name: "agent", NotBefore: time.Now().Add(day),
			NotAfter: time.Now().Add(2 * day)}, want: check.OwnCertNotYetValid},
		{name: "of another CA", template: checktest.Template{Name: "agent"},
			issuer: func(*checktest.Master) *checktest.CA { return other }, want: check.OwnCertForeign},
		{name: "revoked", template: checktest.Template{Name: "agent"}, revoke: true, want: check.OwnCertRevoked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			ca := m.CA
			if tt.issuer != nil {
				ca = tt.issuer(m)
			}
			leaf, err := ca.Issue(tt.template)
			if err != nil {
				t.Fatal(err)
			}
			if tt.revoke {
				ca.Revoke(leaf.Certificate)
			}
			if err := m.WriteFiles(); err != nil {
				t.Fatal(err)
			}
			if err := m.Load(); err != nil {
				t.Fatal(err)
			}
			key, err := leaf.KeyPEM()
			if err != nil {
				t.Fatal(err)
			}
			write(t, m.Files().Certificate, leaf.CertificatePEM())
			write(t, m.Files().Key, key)
			r := newProber(t, m).Probe(context.Background())
			wantReason(t, r, check.OK)
			if tt.want != check.OK {
				wantTrouble(t, r.Anonymous, tt.want)
			} else if r.Anonymous != nil {
				t.Error(r.Anonymous)
			}
		})
	}
}

func TestExpiredCRLIsReportedOnEitherSide(t *testing.T) {
	m := newMaster(t)
	expired, err := m.CA.CRL(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(m.Files().CRL)
	if err != nil {
		t.Fatal(err)
	}
	p := newProber(t, m)

	write(t, m.Files().CRL, expired)
	m.Load()
	r := p.Probe(context.Background())
	wantReason(t, r, check.CRLExpired)
	if !strings.Contains(r.Fault.Error(), m.CA.Certificate.Subject.CommonName) {
		t.Errorf("the fault does not name the CRL: %v", r.Fault)
	}

	write(t, m.Files().CRL, good) // ours is good again, the server's is not
	wantReason(t, p.Probe(context.Background()), check.OwnCertRefused)
	m.Load()
	wantReason(t, p.Probe(context.Background()), check.OK)
}
