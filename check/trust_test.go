//go:debug x509negativeserial=1

package check_test

import (
	"cmp"
	"crypto/tls"
	"encoding/pem"
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
		{"common name and a URI", checktest.Template{Name: certname, CNOnly: true, URI: "urn:x"}, check.OK, check.OK},
		{"another common name and a URI", checktest.Template{Name: other.Name, CNOnly: true, URI: "urn:" + certname},
			puppetclient.ServerCertName, check.OK},
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

// TestTheMasterDecidesAboutLists: what is wrong with our copy of a CRL says nothing about the master, which may have
// another, or none, as the Foreman's compile masters. If it has loaded the same one, it refuses every agent.
func TestTheMasterDecidesAboutLists(t *testing.T) {
	root := must(checktest.NewCA("Puppet Root CA"))
	alone := func(ca *checktest.CA) *checktest.CA { one := *ca; one.Parent = nil; return &one }
	expired := func(ca *checktest.CA) []byte { return must(ca.CRL(past)) }
	issuersOnly := func(ca *checktest.CA) []byte { return must(alone(ca).CRL(future)) }
	rootsOnly := func(ca *checktest.CA) []byte { return must(ca.Parent.CRL(future)) }
	const missing, ended = puppetclient.CRLMissing, puppetclient.CRLExpired
	for _, tt := range []struct {
		name       string
		crls       func(*checktest.CA) []byte // our copy
		revocation puppetclient.Revocation
		doubt      check.Reason // with a master that does not use it
		loaded     check.Reason // with a master that has loaded it, and trusts each CA of its bundle
	}{
		{"expired", expired, "", ended, ended},
		{"the issuer's is missing", rootsOnly, "", missing, missing},
		{"the root's is missing", issuersOnly, "", missing, check.OK},
		{"leaf, the root's is missing", issuersOnly, puppetclient.RevocationLeaf, check.OK, check.OK},
		{"leaf, expired", expired, puppetclient.RevocationLeaf, ended, ended},
		{"off, expired", expired, puppetclient.RevocationOff, check.OK, puppetclient.OwnCertRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ca := must(root.Intermediate("Puppet Issuing CA"))
			m := must(checktest.NewMasterWithCA(t.TempDir(), certname, "127.0.0.1:0", ca))
			t.Cleanup(func() { m.Close() })
			fresh, ours := must(os.ReadFile(m.Files().CRL)), tt.crls(ca)
			write(t, m.Files().CRL, ours)
			p := newProber(t, m)
			p.Credentials.Files.Revocation = tt.revocation
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				without := func(c *tls.Config) { c.MaxVersion, c.VerifyPeerCertificate = version, nil }
				for _, edit := range []func(*tls.Config){without, func(c *tls.Config) { c.MaxVersion = version }} {
					m.SetTLS(edit)
					must(0, m.LoadCRLs(fresh))
					p.Close()
					r := p.Probe(t.Context())
					wantReason(t, r, check.OK)
					wantTrouble(t, r.Doubt, tt.doubt)
					if proved := tt.doubt == check.OK; r.Proved != proved || r.Doubted() == proved || r.Anonymous != nil {
						t.Errorf("proved %v, doubted %v, anonymous %v", r.Proved, r.Doubted(), r.Anonymous)
					}
					if f := expiryOf(r); tt.doubt != check.OK && (f.Reason != tt.doubt || f.State != check.StateWarn) {
						t.Errorf("%+v, want a warning: %s", f, tt.doubt)
					}
				}
				must(0, m.LoadCRLs(ours))
				if tt.doubt == check.OK {
					p.Close() // the connection is kept
				}
				wantReason(t, p.Probe(t.Context()), tt.loaded)
			}
		})
	}
}

func expiryOf(r check.Result) check.Finding {
	return check.All().Observers(new(check.Seen))[check.CheckExpiry](r, time.Now())
}

// TestAListThatHasEndedStillRevokes: that a certificate stands on a list is evidence, whatever the age of the list.
func TestAListThatHasEndedStillRevokes(t *testing.T) {
	m := newMaster(t)
	m.SetTLS(func(c *tls.Config) { c.VerifyPeerCertificate = nil })
	m.CA.Revoke(m.Leaf.Certificate)
	write(t, m.Files().CRL, must(m.CA.CRL(past)))
	wantReason(t, newProber(t, m).Probe(t.Context()), puppetclient.ServerCertRevoked)
}

// TestWhatIsRememberedOfAListRevokes: the lists stay in use while their file cannot be read, and their end is no fault.
func TestWhatIsRememberedOfAListRevokes(t *testing.T) {
	for _, whole := range []bool{true, false} { // whether the other files are good
		m := newMaster(t)
		m.SetTLS(func(c *tls.Config) { c.VerifyPeerCertificate = nil })
		if !whole {
			os.Remove(m.Files().Key)
		}
		write(t, m.Files().CRL, must(m.CA.CRL(past)))
		p := newProber(t, m)
		p.Handshake = time.Nanosecond
		wantReason(t, p.Probe(t.Context()), check.OK)
		os.Remove(m.Files().CRL)
		r := p.Probe(t.Context())
		wantReason(t, r, check.OK)
		wantTrouble(t, r.Doubt, puppetclient.CRLExpired)

		m.CA.Revoke(m.Leaf.Certificate)
		write(t, m.Files().CRL, must(m.CA.CRL(future)))
		wantReason(t, p.Probe(t.Context()), puppetclient.ServerCertRevoked)
		os.Remove(m.Files().CRL)
		wantReason(t, p.Probe(t.Context()), puppetclient.ServerCertRevoked)
	}
}

// TestACertificateThatGoCannotParse, of the master or of this host: agents may succeed, and it is not said that they
// fail. A negative serial number is parsed, as cmd/pmcheck has it.
func TestACertificateThatGoCannotParse(t *testing.T) {
	for _, tt := range []struct {
		name       string
		template   checktest.Template
		master, us check.Reason // as the certificate of the master, and as ours
	}{
		{name: "negative serial", template: checktest.Template{Name: certname, Negative: true}, master: check.OK,
			us: check.OK},
		{name: "URI with a blank", template: checktest.Template{Name: certname, URI: "http://a b/"},
			master: puppetclient.ServerCertUnreadable, us: puppetclient.OwnCertUnreadable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			leaf := must(m.CA.Issue(tt.template))
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				m.SetTLS(func(c *tls.Config) {
					c.MaxVersion = version
					c.Certificates = []tls.Certificate{{Certificate: [][]byte{leaf.Certificate.Raw}, PrivateKey: leaf.Key}}
				})
				r := newProber(t, m).Probe(t.Context())
				wantReason(t, r, tt.master)
				if v := new(check.Judge).Observe(r); r.Fault != nil &&
					(v.Health != check.Unknown || !strings.Contains(v.Detail, "which agents may accept")) {
					t.Errorf("%s: %s", v, v.Detail)
				}
			}

			m.SetTLS(nil)
			install(t, m, leaf)
			r := newProber(t, m).Probe(t.Context())
			wantReason(t, r, check.OK)
			wantTrouble(t, r.Anonymous, tt.us)
			if f := expiryOf(r); tt.us != check.OK && f.Reason != tt.us || f.KeepsFromStarting() {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestWhatCannotBeParsedIsSkipped: one element does not spoil the file. What follows from it is said.
func TestWhatCannotBeParsedIsSkipped(t *testing.T) {
	const skipped, missing = puppetclient.OwnFilesSkipped, puppetclient.CRLMissing
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	ca, crl := block("CERTIFICATE", []byte("x")), block("X509 CRL", []byte("x"))
	noPEM := []byte("-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n")
	foreign := must(checktest.NewCA("Another CA"))
	for _, tt := range []struct {
		name    string
		cas     func(*checktest.Master) []byte // the CA's file; nil leaves it
		crls    func(*checktest.Master) []byte
		fault   check.Reason
		doubt   check.Reason
		finding check.Reason
		says    string
	}{
		{name: "a CA beside ours", cas: func(m *checktest.Master) []byte { return slices.Concat(ca, m.CA.Bundle()) },
			finding: skipped, says: "block 1 of 2 in CA: x509: malformed certificate"},
		{name: "not PEM", cas: func(m *checktest.Master) []byte { return slices.Concat(m.CA.Bundle(), noPEM) },
			finding: skipped, says: "block 2 of 2 in CA: x509: malformed certificate"},
		{name: "three of four", cas: func(m *checktest.Master) []byte { return slices.Concat(ca, noPEM, m.CA.Bundle(), ca) },
			finding: skipped, says: "block 1 of 4 in CA: x509: malformed certificate, and 2 more"},
		{name: "our CA, perhaps", cas: func(*checktest.Master) []byte { return slices.Concat(ca, foreign.Bundle()) },
			doubt: skipped, finding: skipped, says: "the server is not verified, since its CA may be what is skipped: block 1"},
		{name: "the only CA", cas: func(*checktest.Master) []byte { return ca },
			finding: skipped, says: "no self-signed root in the CA file that can be parsed: block 1 of 1 in CA"},
		{name: "nothing, of another CA", cas: func(*checktest.Master) []byte { return foreign.Bundle() },
			fault: puppetclient.ServerCertUntrusted},
		{name: "a list beside ours", crls: func(m *checktest.Master) []byte {
			return slices.Concat(must(m.CA.CRL(future)), crl)
		}, finding: skipped, says: "block 2 of 2 in CRL: x509: malformed crl"},
		{name: "our list, perhaps", crls: func(*checktest.Master) []byte {
			return slices.Concat(crl, must(foreign.CRL(future)))
		}, doubt: missing, finding: missing, says: "can be read: block 1 of 2 in CRL"},
		{name: "the only list", crls: func(*checktest.Master) []byte { return crl },
			finding: skipped, says: "no X509 CRL in the CRL file that can be parsed: block 1 of 1 in CRL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			f := m.Files()
			if tt.cas != nil {
				write(t, f.CA, tt.cas(m))
			}
			if tt.crls != nil {
				write(t, f.CRL, tt.crls(m))
			}
			r := newProber(t, m).Probe(t.Context())
			wantReason(t, r, cmp.Or(tt.fault, check.OK))
			wantTrouble(t, r.Doubt, cmp.Or(tt.doubt, check.OK))
			if r.Proved || r.Anonymous != nil && tt.fault == "" {
				t.Errorf("proved %v, anonymous %v", r.Proved, r.Anonymous)
			}
			if tt.fault != "" {
				return
			}
			says := strings.NewReplacer("in CA", "in "+f.CA, "in CRL", "in "+f.CRL).Replace(tt.says)
			got := expiryOf(r)
			if got.Reason != tt.finding || got.State != check.StateWarn || !strings.Contains(got.Detail, says) {
				t.Errorf("%s, %s, %q; want %s, %q", got.State, got.Reason, got.Detail, tt.finding, says)
			}
			if got.KeepsFromStarting() {
				t.Error("Puppet Server may not start")
			}
		})
	}
}

// TestAMasterThatRequiresACertificate (client-auth: need) serves agents, whether or not pmcheck has one to offer. It is
// believed if it is verified, since it refuses every client that way.
func TestAMasterThatRequiresACertificate(t *testing.T) {
	unread := func(paths ...string) {
		for _, path := range paths {
			os.Remove(path)
		}
	}
	const missing = puppetclient.OwnFilesMissing
	for _, tt := range []struct {
		name   string
		damage func(*checktest.Master)
		set    func(*check.Prober)
		want   check.Reason
		health check.Health
	}{
		{name: "nothing is wrong", health: check.Healthy},
		{name: "no key", damage: func(m *checktest.Master) { unread(m.Files().Key) }, health: check.Healthy},
		{name: "our certificate has expired", damage: func(m *checktest.Master) {
			install(t, m, must(m.CA.Issue(expired)))
		}, health: check.Healthy},
		{name: "no file: it is not verified", damage: func(m *checktest.Master) { os.RemoveAll(m.Dir) }, want: missing,
			health: check.Unknown},
		{name: "no key and no CRL", damage: func(m *checktest.Master) { unread(m.Files().Key, m.Files().CRL) }, want: missing,
			health: check.Unknown},
		{name: "no key, and the CRL has expired", damage: func(m *checktest.Master) {
			unread(m.Files().Key)
			write(t, m.Files().CRL, must(m.CA.CRL(past)))
		}, want: missing, health: check.Unknown},
		{name: "no key, and a guessed name", damage: func(m *checktest.Master) { unread(m.Files().Key) },
			set: func(p *check.Prober) { p.Guessed = true }, want: missing, health: check.Unknown},
		{name: "no key, and another service", damage: func(m *checktest.Master) { unread(m.Files().Key) },
			set: func(p *check.Prober) { p.Service = "ca" }, want: puppetclient.CertificateRequired, health: check.Unknown},
		{name: "no key, and another CA", damage: func(m *checktest.Master) {
			unread(m.Files().Key)
			write(t, m.Files().CA, must(checktest.NewCA("Another CA")).Bundle())
		}, want: puppetclient.ServerCertUntrusted, health: check.Unhealthy},
		{name: "ours is refused", damage: func(m *checktest.Master) {
			fresh := must(os.ReadFile(m.Files().CRL))
			must(0, m.LoadCRLs(must(m.CA.CRL(past))))
			write(t, m.Files().CRL, fresh)
		}, want: puppetclient.OwnCertRefused, health: check.Unhealthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			if tt.damage != nil {
				tt.damage(m)
			}
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				m.SetTLS(func(c *tls.Config) {
					c.MaxVersion = version
					c.ClientAuth = tls.RequireAndVerifyClientCert
				})
				p := newProber(t, m)
				if tt.set != nil {
					tt.set(p)
				}
				r := p.Probe(t.Context())
				want, health := cmp.Or(tt.want, check.OK), tt.health
				if want == missing && version == tls.VersionTLS12 {
					want, health = puppetclient.TLSFailed, check.Unhealthy // Go's server says handshake_failure
				}
				wantReason(t, r, want)
				if v := new(check.Judge).Observe(r); v.Health != health {
					t.Errorf("%s, want %s", v, health)
				}
				if tt.health != check.Healthy || r.Own != nil && r.Anonymous == nil {
					continue
				}
				f := check.All().Observers(new(check.Seen))[check.CheckJRuby](r, time.Now())
				if f.State != check.StateWarn || f.Reason != puppetclient.CertificateRequired || f.Health != "" {
					t.Errorf("%+v, want a warning", f)
				}
				if f := expiryOf(r); f.State != check.StateBad || !strings.HasPrefix(string(f.Reason), "own-") {
					t.Errorf("%+v, want what is wrong with our own files", f)
				}
				if !r.Doubted() || r.Proved {
					t.Errorf("doubted %v, proved %v", r.Doubted(), r.Proved)
				}
			}
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
