package puppetclient

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// host is a CA with a certificate, its key and a CRL, in PEM.
type host struct {
	certificate, key, ca, crl []byte
}

// noon is when the certificates of a host are valid.
func noon() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

// newHost makes the same host each time: the processes of a fuzz test share their seeds. Number tells CAs apart.
func newHost(number byte) host {
	keyOf := func(n byte) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	}
	caKey, key := keyOf(number), keyOf(number+100)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Puppet CA"},
		NotBefore:             noon().Add(-time.Hour),
		NotAfter:              noon().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		SubjectKeyId:          []byte("Puppet CA"),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "puppet1"},
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		DNSNames:     []string{"puppet1"},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	crl := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: ca.NotBefore, NextUpdate: ca.NotAfter}
	encoded := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return host{
		certificate: encoded("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey))),
		key:         encoded("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))),
		ca:          encoded("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey))),
		crl:         encoded("X509 CRL", must(x509.CreateRevocationList(rand.Reader, crl, ca, caKey))),
	}
}

// read returns the files of a host as they were read.
func (h host) read() contents {
	return contents{{data: h.certificate}, {data: h.key}, {data: h.ca}, {data: h.crl}}
}

// write writes the files of a host to a directory.
func (h host) write(t *testing.T) Files {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return Files{
		Certificate: write("certificate", h.certificate),
		Key:         write("key", h.key),
		CA:          write("ca", h.ca),
		CRL:         write("crl", h.crl),
	}
}

func TestAFIFOInPlaceOfAKeyIsNotWaitedFor(t *testing.T) {
	files := newHost(1).write(t)
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(files.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&Credentials{Files: files}).TLS(t.Context(), "db")
	if err == nil || !strings.HasSuffix(err.Error(), files.Key+": is not a regular file") {
		t.Errorf("error %v", err)
	}
}

// A file system that hangs, as NFS does without its server, must not make a caller hang.
func TestAReadingThatHangsIsNotWaitedFor(t *testing.T) {
	c := &Credentials{Files: newHost(1).write(t)}
	hang := func() (release func()) {
		ends := make(chan struct{})
		c.reading.DoChan("", func() (any, error) { <-ends; return c.refresh() })
		return func() { close(ends) }
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}

	release := hang()
	if m, err := c.material(soon()); m.own.Leaf != nil || m.roots != nil || m.trouble(noon()) == nil ||
		err == nil || !strings.Contains(err.Error(), c.Files.Certificate) {
		t.Errorf("before the first reading: %+v, %v", m, err)
	}
	if _, err := c.TLS(soon(), "db"); err == nil {
		t.Error("a connection to another server would not be verified")
	}
	release()
	good, err := c.material(t.Context())
	if err != nil || good.own.Leaf == nil {
		t.Fatalf("once the file system answers: %+v, %v", good, err)
	}

	defer hang()()
	if m, err := c.material(soon()); m != good || err == nil {
		t.Errorf("the last good set is in use: %v; %v, want an error", m == good, err)
	}
	if _, err := c.TLS(soon(), "db"); err != nil {
		t.Errorf("connections to another server fail: %v", err)
	}
}

// Files that are still being read for the first time are waited for, and a file system that hangs is not waited for
// twice.
func TestTheFirstReadingIsWaitedFor(t *testing.T) {
	c := &Credentials{Files: newHost(1).write(t)}
	release := make(chan struct{})
	c.reading.DoChan("", func() (any, error) { <-release; return c.refresh() })
	ready := make(chan struct{})
	go func() { c.Ready(t.Context()); close(ready) }()
	select {
	case <-ready:
		t.Error("the files have not been read")
	case <-time.After(50 * time.Millisecond):
	}

	past := time.Now().Add(-firstReading)
	other := &Credentials{Files: c.Files}
	other.began.Store(&past)
	hangs := other.reading.DoChan("", func() (any, error) { <-release; return other.refresh() })
	other.Ready(t.Context()) // returns although they have not been read

	close(release)
	<-ready
	<-hangs
	if m := c.used.Load(); m == nil || m.own.Leaf == nil {
		t.Errorf("not read: %+v", m)
	}
}

// A set that is not all good gives way to the next one, but for its CA: the server would not be verified any more.
func TestACAThatWasReadStaysInUse(t *testing.T) {
	h, other := newHost(1), newHost(2)
	c := &Credentials{Files: h.write(t)}
	for _, step := range []struct {
		name string
		file string
		data []byte // nil removes the file
		want host   // whose CA is in use
	}{
		{"no CRL", c.Files.CRL, nil, h},
		{"no CA either", c.Files.CA, nil, h},
		{"half a CA", c.Files.CA, h.ca[:100], h},
		{"another CA", c.Files.CA, other.ca, other},
	} {
		if step.data == nil {
			must(0, os.Remove(step.file))
		} else {
			must(0, os.WriteFile(step.file, step.data, 0o600))
		}
		m, err := c.material(t.Context())
		if err == nil || m.why() == nil {
			t.Errorf("%s: all files are good", step.name)
		}
		block, _ := pem.Decode(step.want.ca)
		if m.roots == nil || len(m.bundle) != 1 || !bytes.Equal(m.bundle[0].Raw, block.Bytes) {
			t.Errorf("%s: the CA in use is %v", step.name, m.bundle)
		}
	}
}

// A CA that cannot be parsed may have issued what no other CA has, whether or not the last good bundle is in use.
func TestACAThatIsSkippedMayHaveIssuedAnything(t *testing.T) {
	h, other := newHost(1), newHost(2)
	leaf := func(h host) []*x509.Certificate {
		block, _ := pem.Decode(h.certificate)
		return []*x509.Certificate{must(x509.ParseCertificate(block.Bytes))}
	}
	unparsable := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	c := &Credentials{Files: h.write(t)}
	for _, step := range []struct {
		name     string
		ca       []byte // nil removes the file
		doubted  bool   // a server of another CA
		skipping bool   // some of the file as it is now
	}{
		{"all is good", h.ca, false, false},
		{"one is skipped", append(bytes.Clone(h.ca), unparsable...), true, true},
		{"no file: the last is in use", nil, true, false},
		{"good again", h.ca, false, false},
		{"all is skipped: the last is in use", unparsable, true, true},
		{"cut off", unparsable[:30], true, false},
		{"good at last", h.ca, false, false},
	} {
		if step.ca == nil {
			must(0, os.Remove(c.Files.CA))
		} else {
			must(0, os.WriteFile(c.Files.CA, step.ca, 0o600))
		}
		m, err := c.material(t.Context())
		want := expected{name: "puppet1", onHost: true}
		if e, is := errors.AsType[*Error](err); step.skipping != (is && e.Reason == OwnFilesSkipped) {
			t.Errorf("%s: %v", step.name, err)
		}
		if doubt, fault := m.verifyServer(leaf(h), want, noon()); doubt != nil || fault != nil {
			t.Errorf("%s: a server of the CA: %v, %v", step.name, doubt, fault)
		}
		if doubt, fault := m.verifyServer(leaf(other), want, noon()); (doubt != nil) != step.doubted ||
			(fault == nil) != step.doubted {
			t.Errorf("%s: a server of another CA: %v, %v", step.name, doubt, fault)
		}
		want.onHost = false
		if _, fault := m.verifyServer(leaf(other), want, noon()); fault == nil {
			t.Errorf("%s: a server on another host is not verified", step.name)
		}
	}
}

func TestABundleOfThousandsIsRefused(t *testing.T) {
	h := newHost(1)
	files := Files{Certificate: "certificate", Key: "key", CA: "ca", CRL: "crl"}
	many := func(data []byte, n int) []byte { return []byte(strings.Repeat(string(data), n)) }
	most := host{h.certificate, h.key, many(h.ca, maxBlocks), many(h.crl, maxBlocks)}
	if err := files.parse(most.read()).why(); err != nil {
		t.Errorf("%d are refused: %v", maxBlocks, err)
	}
	for name, h := range map[string]host{
		"CA":  {h.certificate, h.key, many(h.ca, maxBlocks+1), h.crl},
		"CRL": {h.certificate, h.key, h.ca, many(h.crl, maxBlocks+1)},
	} {
		if err := files.parse(h.read()).why(); err == nil || !strings.Contains(err.Error(), "the "+name+" file has 201") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzMaterial: whatever the four files of a host contain, a server is verified with them or refused, and what is
// said of them is bounded. A server that another CA has signed is never verified with a CA bundle.
func FuzzMaterial(f *testing.F) {
	h, other := newHost(1), newHost(2)
	f.Add(h.certificate, h.key, h.ca, h.crl)
	f.Add(h.certificate, other.key, h.ca, h.crl)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte{}, h.certificate, h.ca)
	f.Add(append(h.ca, h.certificate...), h.key, append(h.ca, other.ca...), append(h.crl, other.crl...))
	block, _ := pem.Decode(h.certificate)
	server := must(x509.ParseCertificate(block.Bytes))
	block, _ = pem.Decode(h.ca)
	trusted := must(x509.ParseCertificate(block.Bytes))
	f.Fuzz(func(t *testing.T, certificate, key, ca, crl []byte) {
		now := noon()
		m := Files{Certificate: "c", Key: "k", CA: "a", CRL: "l"}.parse(host{certificate, key, ca, crl}.read())
		if (m.own.Leaf == nil || m.roots == nil) && m.why() == nil {
			t.Error("files that cannot be used, without an error")
		}
		if len(m.bundle) > maxBlocks || len(m.crls) > maxBlocks {
			t.Errorf("%d CA certificates and %d CRLs are kept", len(m.bundle), len(m.crls))
		}
		doubt, refused := m.verifyServer([]*x509.Certificate{server}, expected{name: "puppet1"}, now)
		trusts := false
		for _, c := range m.bundle {
			trusts = trusts || bytes.Equal(c.RawSubjectPublicKeyInfo, trusted.RawSubjectPublicKeyInfo)
		}
		if refused == nil && m.roots != nil && !trusts {
			t.Error("a server of another CA is verified")
		}
		ownDoubt, ownFault := m.verifyOwn(now)
		for _, err := range []error{refused, doubt, ownDoubt, ownFault, m.why()} {
			if err != nil && (len(err.Error()) > maxText || !utf8.ValidString(err.Error())) {
				t.Errorf("a text of %d bytes", len(err.Error()))
			}
		}
		m.nextExpiry([]*x509.Certificate{server}, now)
	})
}
