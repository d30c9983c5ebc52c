package checktest

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// CA is a certificate authority that exists only in memory.
type CA struct {
	Certificate *x509.Certificate
	Parent      *CA // nil for a root

	key     crypto.Signer
	serial  int64
	revoked []x509.RevocationListEntry
}

// Leaf is a host's certificate and key.
type Leaf struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Template describes a certificate to issue. A zero NotBefore means an hour ago, a
// zero NotAfter means a year from now.
type Template struct {
	Name      string
	CNOnly    bool     // no subject alternative name, as from old Puppet CAs
	AltNames  []string // subject alternative names besides Name
	RSA       bool     // an RSA key, as Puppet's, instead of an ECDSA key, which is made in no time
	NotBefore time.Time
	NotAfter  time.Time

	// Negative makes the serial number negative. Go parses such a certificate only if GODEBUG has x509negativeserial=1.
	Negative bool
	// URI is another alternative name; empty for none. Go does not parse a certificate with one that has a blank: of the
	// Leaf's Certificate, only Raw is set then.
	URI string
}

// NewCA makes a self-signed authority.
func NewCA(name string) (*CA, error) { return newCA(name, nil) }

// Intermediate makes an authority signed by ca.
func (ca *CA) Intermediate(name string) (*CA, error) { return newCA(name, ca) }

func newCA(name string, parent *CA) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("CA key: %w", err)
	}

	ca := &CA{Parent: parent, key: key}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(5, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}

	signer := parent
	if parent == nil {
		ca.Certificate = template // the name of the issuer
		signer = ca
	}
	ca.Certificate, err = signer.sign(template, key.Public())
	return ca, err
}

// sign signs a certificate with the authority's own key and name.
func (ca *CA) sign(template *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := ca.create(template, public)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// create returns a signed certificate in DER.
func (ca *CA) create(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	ca.serial++
	template.SerialNumber = big.NewInt(ca.serial)

	der, err := x509.CreateCertificate(rand.Reader, template, ca.Certificate, public, ca.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

// negate makes the serial number of a certificate negative, which CreateCertificate does not, and signs it again.
func (ca *CA) negate(der []byte) ([]byte, error) {
	var c struct {
		Signed    asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &c); err != nil {
		return nil, err
	}

	version := []byte{0xa0, 3, 2, 1, 2} // before the serial number, which has a tag and a length, too
	_, after, _ := bytes.Cut(c.Signed.FullBytes, version)
	after[2] |= 0x80

	digest := sha256.Sum256(c.Signed.FullBytes)
	signature, err := ca.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	c.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	return asn1.Marshal(c)
}

// Issue signs a certificate for a host. Like Puppet's certificates, it is valid for
// TLS servers and clients.
func (ca *CA) Issue(t Template) (*Leaf, error) {
	key, err := t.newKey()
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", t.Name, err)
	}

	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: t.Name},
		NotBefore:   cmp.Or(t.NotBefore, time.Now().Add(-time.Hour)),
		NotAfter:    cmp.Or(t.NotAfter, time.Now().AddDate(1, 0, 0)),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if !t.CNOnly {
		template.DNSNames = append([]string{t.Name}, t.AltNames...)
	}
	if t.URI != "" {
		template.ExtraExtensions = append(template.ExtraExtensions, t.names(template.DNSNames))
	}

	der, err := ca.create(template, key.Public())
	if err == nil && t.Negative {
		der, err = ca.negate(der)
	}
	if err != nil {
		return nil, err
	}

	c, err := x509.ParseCertificate(der)
	if err != nil {
		c = &x509.Certificate{Raw: der}
	}
	return &Leaf{Certificate: c, Key: key}, nil
}

// names returns the extension with the alternative names, which url.URL would escape.
func (t Template) names(dns []string) pkix.Extension {
	const dnsName, uri = 2, 6 // tags of RFC 5280, section 4.2.1.6
	list := []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: uri, Bytes: []byte(t.URI)}}
	for _, name := range dns {
		list = append(list, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: dnsName, Bytes: []byte(name)})
	}

	value, err := asn1.Marshal(list)
	if err != nil {
		panic(err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}
}

func (t Template) newKey() (crypto.Signer, error) {
	if t.RSA {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// Revoke adds a certificate to the CRLs that are made from now on.
func (ca *CA) Revoke(c *x509.Certificate) {
	ca.revoked = append(ca.revoked, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: time.Now()})
}

// Bundle returns the certificates of the authority and of its parents, in PEM.
func (ca *CA) Bundle() []byte {
	var b bytes.Buffer
	for a := ca; a != nil; a = a.Parent {
		b.Write(encode("CERTIFICATE", a.Certificate.Raw))
	}
	return b.Bytes()
}

// CRL returns the revocation lists of the authority and of its parents, in PEM.
// The authority's own list expires at the given time, the others in a year.
func (ca *CA) CRL(expires time.Time) ([]byte, error) {
	var b bytes.Buffer
	for a := ca; a != nil; a = a.Parent {
		ca.serial++
		der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
			Number:                    big.NewInt(ca.serial),
			ThisUpdate:                expires.AddDate(-1, 0, 0),
			NextUpdate:                expires,
			RevokedCertificateEntries: a.revoked,
		}, a.Certificate, a.key)
		if err != nil {
			return nil, fmt.Errorf("CRL of %s: %w", a.Certificate.Subject.CommonName, err)
		}

		b.Write(encode("X509 CRL", der))
		expires = time.Now().AddDate(1, 0, 0)
	}
	return b.Bytes(), nil
}

// CertificatePEM returns the certificate in PEM.
func (l *Leaf) CertificatePEM() []byte { return encode("CERTIFICATE", l.Certificate.Raw) }

// KeyPEM returns the key in PEM, in SEC1 form, or in PKCS #1 form if it is an RSA key.
func (l *Leaf) KeyPEM() ([]byte, error) {
	if key, is := l.Key.(*rsa.PrivateKey); is {
		return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), nil
	}

	der, err := x509.MarshalECPrivateKey(l.Key.(*ecdsa.PrivateKey))
	if err != nil {
		return nil, err
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
