package lab

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// An authority holds the certificate and key of a Puppet CA, and signs with them.
type authority struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

func parseAuthority(tb testing.TB, certDER, keyDER []byte) authority {
	tb.Helper()
	cert, err := x509.ParseCertificate(certDER)
	Must(tb, err)
	key, err := x509.ParsePKCS1PrivateKey(keyDER)
	Must(tb, err)
	return authority{cert: cert, key: key}
}

// issue signs a certificate like the ones that Puppet issues, after edit, if not nil, has
// changed it. It returns the certificate and its new key in DER.
func (a authority) issue(tb testing.TB, certname string, edit func(*x509.Certificate)) (cert, key []byte) {
	tb.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	Must(tb, err)
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: certname},
		DNSNames:    []string{certname},
		NotBefore:   time.Now().Add(-24 * time.Hour),
		NotAfter:    time.Now().Add(5 * 365 * 24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(template)
	}
	cert, err = x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	Must(tb, err)
	return cert, x509.MarshalPKCS1PrivateKey(private)
}

// newAuthority returns a new CA like the one that Puppet makes.
func newAuthority(tb testing.TB, name string) authority {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	Must(tb, err)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-24 * time.Hour),
		NotAfter:              time.Now().Add(5 * 365 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	Must(tb, err)
	return parseAuthority(tb, der, x509.MarshalPKCS1PrivateKey(key))
}

// revocationList returns a signed list in DER, with the entries of list and the next number.
func (a authority) revocationList(tb testing.TB, list *x509.RevocationList, nextUpdate time.Time) []byte {
	tb.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number:                    new(big.Int).Add(list.Number, big.NewInt(1)),
		ThisUpdate:                time.Now().Add(-48 * time.Hour),
		NextUpdate:                nextUpdate,
		RevokedCertificateEntries: list.RevokedCertificateEntries,
	}, a.cert, a.key)
	Must(tb, err)
	return der
}

// revoke adds a certificate to the entries of list.
func revoke(tb testing.TB, list *x509.RevocationList, der []byte) {
	tb.Helper()
	cert, err := x509.ParseCertificate(der)
	Must(tb, err)
	list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
		x509.RevocationListEntry{SerialNumber: cert.SerialNumber, RevocationTime: time.Now()})
}

func decodePEM(tb testing.TB, data []byte) []byte {
	tb.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		tb.Fatalf("no PEM block in %q", data)
	}
	return block.Bytes
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
