package puppetclient

import (
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

// must returns v. Nothing that a test sets up may fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An intermediate CA of Vault, imported into Puppet Server, which signs with BouncyCastle: both CAs are named in
// PrintableString, and in UTF8String in what they sign.
func TestAnImportedCAIsFoundWhateverTypeItsNameHas(t *testing.T) {
	now := time.Now()
	named := func(tag int, name string) []byte {
		raw := asn1.RawValue{Tag: tag, Bytes: []byte(name)}
		return must(asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: raw}}}))
	}
	newKey := func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }
	rootKey, caKey, leafKey := newKey(), newKey(), newKey()
	root := &x509.Certificate{RawSubject: named(asn1.TagUTF8String, "Root"), PublicKey: rootKey.Public()}
	ca := &x509.Certificate{
		RawSubject:   named(asn1.TagUTF8String, "Puppet CA"),
		SubjectKeyId: []byte("Puppet CA"),
		KeyUsage:     x509.KeyUsageCRLSign,
		PublicKey:    caKey.Public(),
	}
	sign := func(tag int, name string, key *ecdsa.PrivateKey, issuer *x509.Certificate, by *ecdsa.PrivateKey,
	) *x509.Certificate {
		template := &x509.Certificate{
			SerialNumber:          big.NewInt(1),
			RawSubject:            named(tag, name),
			NotBefore:             now.Add(-time.Hour),
			NotAfter:              now.Add(time.Hour),
			IsCA:                  key != leafKey,
			BasicConstraintsValid: true,
			DNSNames:              []string{"puppet1"},
		}
		if key == by {
			issuer = template
		}
		return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), by))))
	}
	var bundle []byte
	for _, c := range []*x509.Certificate{
		sign(asn1.TagPrintableString, "Puppet CA", caKey, root, rootKey),
		sign(asn1.TagPrintableString, "Root", rootKey, nil, rootKey),
	} {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	crl := must(x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number:     big.NewInt(1),
		ThisUpdate: now,
		NextUpdate: now.Add(time.Hour / 2),
	}, ca, caKey))
	m := &material{revocation: RevocationLeaf}
	if err := m.parseCRLs("crl", pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: crl})); err != nil {
		t.Fatal(err)
	}
	if err := m.parseBundle("ca", bundle); err != nil {
		t.Fatal(err)
	}
	leaf := sign(asn1.TagUTF8String, "puppet1", leafKey, ca, caKey)
	want := expected{name: "puppet1"}
	if doubt, fault := m.verifyServer([]*x509.Certificate{leaf}, want, now); doubt != nil || fault != nil {
		t.Errorf("a master whose agents are served: %v, %v", doubt, fault)
	}
	if first := m.nextExpiry([]*x509.Certificate{leaf}, now); first.Sub(now) > time.Hour/2 {
		t.Errorf("the connection is kept until %s, beyond the CRL", first)
	}
	ca.PublicKey = rootKey.Public()
	forged := sign(asn1.TagUTF8String, "puppet1", leafKey, ca, rootKey)
	if _, fault := m.verifyServer([]*x509.Certificate{forged}, want, now); fault == nil {
		t.Error("a certificate with a signature of another key was accepted")
	}
}
