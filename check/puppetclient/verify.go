package puppetclient

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// clientConfig builds the TLS configuration. It verifies by itself: crypto/tls refuses
// the certificates of old Puppet CAs, which have the host's name in the common name
// only, knows no CRLs, and does not report which of the checks failed.
func (m *material) clientConfig(serverName string, now func() time.Time) *tls.Config {
	return &tls.Config{
		ServerName:         serverName,
		MinVersion:         tls.VersionTLS12,
		Time:               now,
		InsecureSkipVerify: true, // replaced by VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error {
			if err := m.verifyServer(s.PeerCertificates, serverName, now()); err != nil {
				return err
			}
			return nil
		},
		// crypto/tls offers a certificate only if the server names its direct issuer.
		// A master names its root, so with an intermediate CA the probe would
		// silently be anonymous.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &m.own, nil
		},
	}
}

// verifyServer verifies a server as an agent does: chain, name, and revocation as
// deep as configured.
func (m *material) verifyServer(peers []*x509.Certificate, name string, now time.Time) *Error {
	if len(peers) == 0 {
		return &Error{Reason: TLSFailed, Detail: "the master showed no certificate"}
	}
	leaf := peers[0]
	chains, err := m.chains(leaf, peers[1:], x509.ExtKeyUsageServerAuth, now)
	if err != nil {
		return serverError(leaf, err, now)
	}
	if err := verifyName(leaf, name); err != nil {
		return &Error{Reason: ServerCertName, Err: err}
	}
	fault := m.checkRevocation(chains[0], now)
	if fault != nil && fault.Reason == revoked {
		fault.Reason = ServerCertRevoked
	}
	return fault
}

func (m *material) chains(
	leaf *x509.Certificate, sent []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time,
) ([][]*x509.Certificate, error) {
	intermediates := m.intermediates.Clone()
	for _, c := range sent {
		intermediates.AddCert(c)
	}
	return leaf.Verify(x509.VerifyOptions{
		Roots:         m.roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{usage},
	})
}

func serverError(leaf *x509.Certificate, err error, now time.Time) *Error {
	subject := leaf.Subject.CommonName
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil {
		detail := validity(invalid.Cert)
		switch {
		case invalid.Cert.IsCA && now.After(invalid.Cert.NotAfter):
			return &Error{Reason: CAExpired, Detail: "CA certificate " + detail}
		case now.Before(invalid.Cert.NotBefore):
			return &Error{Reason: ServerCertNotYetValid, Detail: "the master's certificate chain: " + detail}
		}
		return &Error{Reason: ServerCertExpired, Detail: "the master's certificate " + detail}
	}
	return &Error{
		Reason: ServerCertUntrusted,
		Detail: fmt.Sprintf("the master's certificate %s, issued by %s", subject, leaf.Issuer.CommonName),
		Err:    err,
	}
}

func validity(c *x509.Certificate) string {
	return fmt.Sprintf("%s is valid from %s to %s", c.Subject.CommonName,
		c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}

// verifyName accepts a name in the subject alternative names, or, in a
// certificate that has none, in the common name: Puppet's CA has put both
// there only since Puppet Server 6.15.2 and 7.1.0.
func verifyName(c *x509.Certificate, name string) error {
	if len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses)+len(c.URIs) > 0 {
		return c.VerifyHostname(name)
	}
	if strings.EqualFold(c.Subject.CommonName, name) {
		return nil
	}
	return fmt.Errorf("the master's certificate is for %s, not %s", c.Subject.CommonName, name)
}

// revoked is what checkRevocation answers before the caller says whose
// certificate it was.
const revoked Reason = "revoked"

// checkRevocation looks a verified chain up in the CRLs, as deep as asked.
func (m *material) checkRevocation(chain []*x509.Certificate, now time.Time) *Error {
	depth := len(chain)
	switch m.revocation {
	case RevocationOff:
		return nil
	case RevocationLeaf:
		depth = 1
	}
	for i, c := range chain[:depth] {
		issuer := chain[min(i+1, len(chain)-1)] // the root signed itself
		crl := m.newestCRL(issuer)
		if crl == nil {
			return &Error{Reason: CRLMissing, Detail: "no CRL of " + issuer.Subject.CommonName + " in the CRL file"}
		}
		if !crl.NextUpdate.IsZero() && now.After(crl.NextUpdate) {
			return &Error{Reason: CRLExpired, Detail: fmt.Sprintf("the CRL of %s expired at %s",
				issuer.Subject.CommonName, crl.NextUpdate.UTC().Format(time.RFC3339))}
		}
		for _, entry := range crl.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(c.SerialNumber) == 0 {
				return &Error{Reason: revoked, Detail: fmt.Sprintf("certificate %s (serial %X) was revoked at %s",
					c.Subject.CommonName, c.SerialNumber, entry.RevocationTime.UTC().Format(time.RFC3339))}
			}
		}
	}
	return nil
}

// newestCRL returns the latest list that the issuer signed, or nil.
func (m *material) newestCRL(issuer *x509.Certificate) *x509.RevocationList {
	var newest *x509.RevocationList
	for _, crl := range m.crls {
		if !bytes.Equal(crl.RawIssuer, issuer.RawSubject) || crl.CheckSignatureFrom(issuer) != nil {
			continue
		}
		if newest == nil || crl.ThisUpdate.After(newest.ThisUpdate) {
			newest = crl
		}
	}
	return newest
}

// ownError returns why a server may refuse our certificate, as far as the files show;
// nil if they show nothing.
func (m *material) ownError(now time.Time) *Error {
	leaf := m.own.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return &Error{Reason: OwnCertExpired, Detail: "our certificate " + validity(leaf)}
	case now.Before(leaf.NotBefore):
		return &Error{Reason: OwnCertNotYetValid, Detail: "our certificate " + validity(leaf)}
	}
	var sent []*x509.Certificate
	for _, der := range m.own.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			sent = append(sent, c)
		}
	}
	chains, err := m.chains(leaf, sent, x509.ExtKeyUsageClientAuth, now)
	if err != nil {
		return &Error{
			Reason: OwnCertForeign,
			Detail: fmt.Sprintf("our certificate %s was issued by %s", leaf.Subject.CommonName, leaf.Issuer.CommonName),
			Err:    err,
		}
	}
	fault := m.checkRevocation(chains[0], now)
	if fault != nil && fault.Reason == revoked {
		fault.Reason = OwnCertRevoked
	}
	return fault
}
