package puppetclient

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// written returns a common name as a string of the type of a tag.
func written(t *testing.T, tag int, name string) []byte {
	t.Helper()
	raw := asn1.RawValue{Tag: tag, Bytes: []byte(name)}
	der, err := asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: raw}}})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// An intermediate CA of Vault, imported into Puppet Server, which signs with BouncyCastle.
func TestAnImportedCAIsFoundWhateverTypeItsNameHas(t *testing.T) {
	now := time.Now()
	key := func() crypto.Signer {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sign := func(name []byte, serial int64, parent *x509.Certificate, subject, by crypto.Signer,
		isCA bool) *x509.Certificate {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), RawSubject: name, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
			IsCA: isCA, BasicConstraintsValid: true, DNSNames: []string{"puppet1"},
		}
		if isCA {
			c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		}
		if parent == nil {
			parent = c
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, subject.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		return c
	}
	as := func(c *x509.Certificate, name []byte) *x509.Certificate {
		other := *c
		other.RawSubject = name
		return &other
	}
	rootKey, caKey, leafKey := key(), key(), key()
	root := sign(written(t, asn1.TagPrintableString, "Root"), 1, nil, rootKey, rootKey, true)
	ca := sign(written(t, asn1.TagPrintableString, "Puppet CA"), 2, as(root, written(t, asn1.TagUTF8String, "Root")),
		caKey, rootKey, true)
	signer := as(ca, written(t, asn1.TagUTF8String, "Puppet CA"))
	leaf := sign(written(t, asn1.TagUTF8String, "puppet1"), 3, signer, leafKey, caKey, false)
	other := as(signer, signer.RawSubject)
	other.PublicKey = leafKey.Public()
	forged := sign(written(t, asn1.TagUTF8String, "puppet1"), 4, other, leafKey, leafKey, false)

	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: now, NextUpdate: now.Add(time.Hour),
	}, signer, caKey)
	if err != nil {
		t.Fatal(err)
	}
	m := &material{revocation: RevocationLeaf}
	if err := m.parseCRLs(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: crl})); err != nil {
		t.Fatal(err)
	}
	var bundle []byte
	for _, c := range []*x509.Certificate{ca, root} {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	if err := m.parseBundle(bundle); err != nil {
		t.Fatal(err)
	}
	if err := m.verifyServer([]*x509.Certificate{leaf}, "puppet1", now); err != nil {
		t.Errorf("a master whose agents are served: %v", err)
	}
	if err := m.verifyServer([]*x509.Certificate{forged}, "puppet1", now); err == nil {
		t.Error("a certificate with a signature of another key was accepted")
	}
}
