package check

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	Asked time.Time     // when the probe began
	Took  time.Duration // until the answer was read, or the probe gave up
	API   API           // the generation of the API that answered
	URL   string        // what was asked last; empty if nothing could be asked
	// Status is the HTTP status code, 0 without an answer.
	Status int
	// Version is Puppet's version where the API tells it (Puppet 3 to 6).
	Version string
	// Handshake tells a probe that made a new connection from one over the
	// kept connection.
	Handshake bool
	// TLS describes the connection; nil if there was none.
	TLS *TLS
	// Own describes the certificate we offer; nil if it could not be read.
	Own *Certificate
	// CAs describes the certificates in the CA bundle.
	CAs []Certificate
	// CRLs describes the revocation lists in use, in the order of the file.
	CRLs []CRL
	// Fault is nil if the master answered that it is running.
	Fault *Fault
	// Warning is set while newer files on disk are unusable and the last good
	// ones are in use.
	Warning error
}

// TLS is what a connection to a master looked like.
type TLS struct {
	Version string      `json:"version"` // for example "TLS 1.3"
	Cipher  string      `json:"cipher"`
	Server  Certificate `json:"server"`
}

// Certificate is the part of a certificate that people ask about.
type Certificate struct {
	Subject   string    `json:"subject"` // common name
	Names     []string  `json:"names,omitempty"`
	Issuer    string    `json:"issuer"` // common name
	Serial    string    `json:"serial"` // hexadecimal
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// CRL is the part of a revocation list that people ask about.
type CRL struct {
	Issuer  string    `json:"issuer"` // common name
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires"`
	Revoked int       `json:"revoked"` // how many certificates it lists
}

// describe notes what the files say.
func (r *Result) describe(m *material) {
	own := describeCertificate(m.own.Leaf)
	r.Own = &own
	for _, c := range m.bundle {
		r.CAs = append(r.CAs, describeCertificate(c))
	}
	for _, crl := range m.crls {
		r.CRLs = append(r.CRLs, CRL{
			Issuer:  crl.Issuer.CommonName,
			Updated: crl.ThisUpdate,
			Expires: crl.NextUpdate,
			Revoked: len(crl.RevokedCertificateEntries),
		})
	}
}

func describeTLS(s tls.ConnectionState) *TLS {
	if len(s.PeerCertificates) == 0 {
		return nil
	}
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
