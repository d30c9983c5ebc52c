package puppetclient

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// TLS describes a connection.
type TLS struct {
	Version string      `json:"version"` // for example "TLS 1.3"
	Cipher  string      `json:"cipher"`
	Server  Certificate `json:"server"`
}

// Certificate is the part of a certificate that operators ask about.
type Certificate struct {
	Subject   string    `json:"subject"` // common name
	Names     []string  `json:"names,omitempty"`
	Issuer    string    `json:"issuer"` // common name
	Serial    string    `json:"serial"` // hexadecimal
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// CRL is the part of a revocation list that operators ask about.
type CRL struct {
	Issuer  string    `json:"issuer"` // common name
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires"`
	Revoked int       `json:"revoked"` // how many certificates it lists
}

// describe returns an Answer with what the files contain.
func (m *material) describe() (a Answer) {
	if m.own.Leaf != nil {
		own := describeCertificate(m.own.Leaf)
		a.Own = &own
	}
	for _, c := range m.bundle {
		a.CAs = append(a.CAs, describeCertificate(c))
	}
	for _, crl := range m.crls {
		a.CRLs = append(a.CRLs, CRL{
			Issuer:  crl.Issuer.CommonName,
			Updated: crl.ThisUpdate,
			Expires: crl.NextUpdate,
			Revoked: len(crl.RevokedCertificateEntries),
		})
	}
	return a
}

func describeTLS(s tls.ConnectionState) *TLS {
	return &TLS{
		Version: tls.VersionName(s.Version),
		Cipher:  tls.CipherSuiteName(s.CipherSuite),
		Server:  describeCertificate(s.PeerCertificates[0]),
	}
}

func describeCertificate(c *x509.Certificate) Certificate {
	return Certificate{
		Subject:   c.Subject.CommonName,
		Names:     c.DNSNames,
		Issuer:    c.Issuer.CommonName,
		Serial:    c.SerialNumber.Text(16),
		NotBefore: c.NotBefore,
		NotAfter:  c.NotAfter,
	}
}
