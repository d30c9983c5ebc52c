package check_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// TestBadFilesAreNoFault: the master is asked with what can be used, and the result says what cannot.
func TestBadFilesAreNoFault(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, f puppetclient.Files)
		want   string // in the error
	}{
		{"empty certificate", func(t *testing.T, f puppetclient.Files) { write(t, f.Certificate, nil) },
			"certificate file is empty"},
		{"half a certificate", func(t *testing.T, f puppetclient.Files) { truncate(t, f.Certificate) },
			"not complete PEM: 1 BEGIN and 0 END"},
		{"half a key", func(t *testing.T, f puppetclient.Files) { truncate(t, f.Key) }, "the key file is not complete PEM"},
		{"half a CRL", func(t *testing.T, f puppetclient.Files) { truncate(t, f.CRL) }, "the CRL file is not complete PEM"},
		{"half a CA bundle", func(t *testing.T, f puppetclient.Files) { truncate(t, f.CA) },
			"the CA file is not complete PEM"},
		{"key of another certificate", func(t *testing.T, f puppetclient.Files) { write(t, f.Key, sec1Key(t)) },
			"private key does not match public key"},
		{"passphrase, old style", func(t *testing.T, f puppetclient.Files) {
			write(t, f.Key, []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "+
				"AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"))
		}, "protected by a passphrase"},
		{"passphrase, PKCS#8", func(t *testing.T, f puppetclient.Files) {
			write(t, f.Key, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"))
		}, "protected by a passphrase"},
		{"not PEM", func(t *testing.T, f puppetclient.Files) { write(t, f.CA, []byte("hello")) }, "not complete PEM"},
		{"no CRL in the CRL file", func(t *testing.T, f puppetclient.Files) { copyFile(t, f.CA, f.CRL) }, "no X509 CRL in"},
		{"no root in the CA file", func(t *testing.T, f puppetclient.Files) { copyFile(t, f.Certificate, f.CA) },
			"no self-signed root"},
		{"missing", func(t *testing.T, f puppetclient.Files) { os.Remove(f.Key) }, "no such file"},
		{"directory", func(t *testing.T, f puppetclient.Files) { os.Remove(f.CRL); os.Mkdir(f.CRL, 0o755) },
			"is a directory"},
		{"huge", func(t *testing.T, f puppetclient.Files) { os.Truncate(f.CRL, 1<<30) }, "larger than 8 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.damage(t, m.Files())
			r := newProber(t, m).Probe(context.Background())
			want := check.OwnFilesInvalid
			switch tt.name {
			case "missing":
				want = check.OwnFilesMissing
			case "directory", "huge":
				want = check.OwnFiles // it cannot be read at all
			}
			wantReason(t, r, check.OK)
			trouble := r.Warning
			wantTrouble(t, trouble, want)
			if !strings.Contains(trouble.Error(), tt.want) || !strings.Contains(trouble.Error(), m.Dir) {
				t.Errorf("%q, want it to contain %q and the path of the file", trouble, tt.want)
			}
			if (r.Own == nil) != (r.Anonymous != nil) {
				t.Errorf("certificate %v, anonymous: %v", r.Own, r.Anonymous)
			}
		})
	}
}

func TestLastGoodFilesAreKept(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	wantReason(t, p.Probe(context.Background()), check.OK)
	whole, err := os.ReadFile(m.Files().Certificate)
	if err != nil {
		t.Fatal(err)
	}

	truncate(t, m.Files().Certificate)
	for _, handshake := range []time.Duration{time.Hour, time.Nanosecond} {
		p.Handshake = handshake
		r := p.Probe(context.Background())
		wantReason(t, r, check.OK)
		if r.Warning == nil || !strings.Contains(r.Warning.Error(), m.Files().Certificate) {
			t.Errorf("warning %v, want one that names the file", r.Warning)
		}
	}

	write(t, m.Files().Certificate, whole)
	r := p.Probe(context.Background())
	wantReason(t, r, check.OK)
	if r.Warning != nil {
		t.Errorf("warning %v after the file was repaired", r.Warning)
	}
}

// A file that becomes readable by chmod has the size and the time that it had before.
func TestBadFilesAreReadAgainThoughTheyLookUnchanged(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	wantName := func(step, want string) {
		t.Helper()
		if own := p.Probe(t.Context()).Own; own == nil || own.Subject != want {
			t.Errorf("%s: certificate %v, want that of %q", step, own, want)
		}
	}
	wantName("at the start", m.Name)
	other, err := m.CA.Issue(checktest.Template{Name: "other.example.test"})
	if err != nil {
		t.Fatal(err)
	}
	install(t, m, other)
	changed := time.Now().Add(-time.Hour)
	rewrite := func(data []byte) {
		t.Helper()
		write(t, m.Files().Certificate, data)
		if err := os.Chtimes(m.Files().Certificate, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(bytes.Repeat([]byte("x"), len(other.CertificatePEM())))
	wantName("with a bad file", m.Name)
	rewrite(other.CertificatePEM())
	wantName("mended", "other.example.test")
}

func TestNewCertificateIsUsedAtOnce(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	first := p.Probe(context.Background())
	leaf, err := m.CA.Issue(checktest.Template{Name: certname})
	if err != nil {
		t.Fatal(err)
	}
	m.Leaf = leaf
	if err := m.WriteFiles(); err != nil {
		t.Fatal(err)
	}
	second := p.Probe(context.Background())
	wantReason(t, second, check.OK)
	if second.Own.Serial == first.Own.Serial || !second.Handshake {
		t.Errorf("serial %s then %s, handshake %v; want the new certificate offered", first.Own.Serial, second.Own.Serial,
			second.Handshake)
	}
}

func TestEachKeyFormIsRead(t *testing.T) {
	m := newMaster(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(m.Leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := m.Leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		pem  []byte
	}{
		{"SEC1", sec1},
		{"SEC1 after parameters",
			append([]byte("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"), sec1...)},
		{"PKCS#8", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, m.Files().Key, tt.pem)
			wantReason(t, newProber(t, m).Probe(context.Background()), check.OK)
		})
	}
	t.Run("PKCS#1", func(t *testing.T) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
		write(t, m.Files().Key, block)
		r := newProber(t, m).Probe(context.Background())
		wantTrouble(t, r.Anonymous, check.OwnFilesInvalid) // it can be read, but is of another type
		if !strings.Contains(r.Anonymous.Error(), "private key type does not match") {
			t.Errorf("%v", r.Anonymous)
		}
	})
}

// TestWithoutAnyFileTheMasterIsStillAsked: on Debian, a user outside the group puppet can read none
// of them. The dates and the name in the master's certificate are verified all the same.
func TestWithoutAnyFileTheMasterIsStillAsked(t *testing.T) {
	m := newMaster(t)
	for _, path := range []string{m.Files().Certificate, m.Files().Key, m.Files().CA, m.Files().CRL} {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
	}
	p := newProber(t, m)
	r := p.Probe(t.Context())
	wantReason(t, r, check.OK)
	wantTrouble(t, r.Anonymous, check.OwnFilesMissing)
	if _, err := p.Credentials.TLS("db.example.test"); err == nil {
		t.Error("a connection to another server would not be verified")
	}
	p = newProber(t, m)
	p.ServerName = "another.example.test"
	wantReason(t, p.Probe(t.Context()), check.ServerCertName)
}

// wantTrouble fails the test unless err is one of pmcheck's own troubles, with this reason.
func wantTrouble(t *testing.T, err error, want check.Reason) {
	t.Helper()
	if e, is := errors.AsType[*puppetclient.Error](err); !is || check.Reason(e.Reason) != want {
		t.Fatalf("%v, want %s", err, want)
	}
	if want.Side() != check.SideOwn {
		t.Errorf("%s is of the side %s", want, want.Side())
	}
}

func sec1Key(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&checktest.Leaf{Key: key}).KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(from))
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, data)
}
