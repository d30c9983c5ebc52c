package puppetclient

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// maxNames bounds the names of a certificate in the text of an error.
const maxNames = 10

// clientConfig builds the TLS configuration. It verifies by itself: crypto/tls refuses
// the certificates of old Puppet CAs, which have the host's name in the common name
// only, knows no CRLs, and does not report which of the checks failed.
// It offers own, which may be an empty certificate.
func (m *material) clientConfig(serverName string, own *tls.Certificate) *tls.Config {
	return &tls.Config{
		ServerName:         serverName,
		MinVersion:         tls.VersionTLS12,
		CipherSuites:       cipherSuites(),
		InsecureSkipVerify: true, // replaced by VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := m.verifyServer(s.PeerCertificates, expected{name: serverName}, time.Now())
			return err
		},
		// crypto/tls offers a certificate only if the server names its direct issuer.
		// A master names its root, so with an intermediate CA the probe would
		// silently be anonymous.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return own, nil
		},
	}
}

// cipherSuites returns the suites that are offered for TLS 1.2: all that Go has but those with RC4 or 3DES. Agents,
// whose TLS is OpenSSL's, offer RSA key exchange too, and the Foreman's Puppet module let Puppet Server accept nothing
// else from 2018 to 2020. Go has no DHE.
func cipherSuites() (list []uint16) {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if !strings.Contains(s.Name, "RC4") && !strings.Contains(s.Name, "3DES") {
			list = append(list, s.ID)
		}
	}
	return list
}

// otherNameError is the error for a server that must be asked again by another name: its certificate is not for its
// certname, but for a name that agents use, or the certname is not known.
type otherNameError struct {
	name string
	error
}

// Unwrap returns what is wrong with the certificate.
func (e *otherNameError) Unwrap() error { return e.error }

// expected is what the certificate of a server must show.
type expected struct {
	name   string
	others []string // names that it may have instead
	onHost bool     // the server is on this host, and need not be verified with the CA if that cannot be read
}

// verifyServer verifies a server as an agent does: chain, name, and revocation as deep as configured. Without a CA
// bundle it verifies dates and name.
//
// The fault is or wraps an *Error. If the certificate lacks the name and has one of the others, the fault is an
// *otherNameError. The doubt, also an *Error, says what could not be verified: only the files of this host are to
// blame for that, so what the server does with our certificate decides.
func (m *material) verifyServer(peers []*x509.Certificate, want expected, now time.Time) (doubt, fault error) {
	leaf := peers[0]
	if m.roots == nil {
		return nil, verifyWithoutCA(leaf, want.name, now)
	}

	chains, err := m.chains(peers, x509.ExtKeyUsageServerAuth, now)
	if m.mayHaveSkippedCA(err) {
		untrusted := fmt.Errorf("the server is not verified, since its CA may be what is skipped: %w", m.caSkips.err())
		if !want.onHost {
			return nil, &Error{Reason: NotVerified, Err: untrusted}
		}
		return &Error{Reason: OwnFilesSkipped, Err: untrusted}, verifyWithoutCA(leaf, want.name, now)
	}
	if err != nil {
		return nil, serverError(leaf, err, now)
	}

	if err := named(leaf, want.name); err != nil {
		for _, other := range want.others {
			if named(leaf, other) == nil {
				return nil, &otherNameError{name: other, error: err}
			}
		}
		return nil, err
	}
	return m.lookUp(chains[0], ServerCertRevoked, now)
}

// verifyWithoutCA verifies what a certificate says of itself.
func verifyWithoutCA(leaf *x509.Certificate, name string, now time.Time) error {
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return serverError(leaf, x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired}, now)
	}
	return named(leaf, name)
}

// mayHaveSkippedCA reports whether the issuer of a certificate, which was not found, may be one of the bundle's that
// could not be parsed.
func (m *material) mayHaveSkippedCA(err error) bool {
	_, isForeign := errors.AsType[x509.UnknownAuthorityError](err)
	return isForeign && len(m.caSkips) > 0
}

// chains verifies the first certificate that was sent, with the others as intermediates.
func (m *material) chains(sent []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) (
	[][]*x509.Certificate, error,
) {
	intermediates := m.intermediates.Clone()
	for _, c := range sent[1:] {
		intermediates.AddCert(m.linked(c))
	}

	return m.linked(sent[0]).Verify(x509.VerifyOptions{
		Roots:         m.roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{usage},
	})
}

// linked returns c with the issuer written as the CA in the bundle writes its name. Puppet
// Server writes UTF8String into every certificate that it signs, but an imported CA may have
// PrintableString in its own (Vault's has). Agents find the CA, since OpenSSL compares what
// the names say; crypto/x509 compares their bytes. The signature is verified all the same.
func (m *material) linked(c *x509.Certificate) *x509.Certificate {
	copied := *c
	for _, ca := range m.bundle {
		if bytes.Equal(ca.RawSubject, c.RawIssuer) {
			return c // as it is, whatever other CAs are called
		}
		if ca.Subject.String() == c.Issuer.String() {
			copied.RawIssuer = ca.RawSubject
		}
	}
	return &copied
}

// serverError returns the error for a server whose certificate cannot be verified.
func serverError(leaf *x509.Certificate, err error, now time.Time) error {
	invalid, is := errors.AsType[x509.CertificateInvalidError](err)
	isDate := is && invalid.Reason == x509.Expired && invalid.Cert != nil
	if !isDate {
		return failed(ServerCertUntrusted, "the server's certificate %s, issued by %s: %w",
			leaf.Subject.CommonName, leaf.Issuer.CommonName, err)
	}

	c := invalid.Cert
	if c.IsCA && now.After(c.NotAfter) {
		return failed(CAExpired, "CA certificate %s", validity(c))
	}
	if now.Before(c.NotBefore) {
		return failed(ServerCertNotYetValid, "the server's certificate chain: %s", validity(c))
	}
	return failed(ServerCertExpired, "the server's certificate %s", validity(c))
}

func validity(c *x509.Certificate) string {
	return fmt.Sprintf("%s is valid from %s to %s", c.Subject.CommonName, rfc3339(c.NotBefore), rfc3339(c.NotAfter))
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// named accepts a name in the subject alternative names, or, in a certificate whose alternative names are neither of
// hosts nor addresses, in the common name, as OpenSSL does: Puppet's CA has put both there only since Puppet Server
// 6.15.2 and 7.1.0.
func named(c *x509.Certificate, name string) error {
	if name == "" {
		return failed(NotVerified, "the server's certname is not known")
	}

	has := []string{c.Subject.CommonName}
	fits := strings.EqualFold(c.Subject.CommonName, name)
	if len(c.DNSNames)+len(c.IPAddresses) > 0 {
		has = slices.Clone(c.DNSNames)
		for _, ip := range c.IPAddresses {
			has = append(has, ip.String())
		}
		fits = c.VerifyHostname(name) == nil
	}
	if fits {
		return nil
	}

	for i := range has {
		has[i] = text.Exact(has[i])
	}
	return failed(ServerCertName, "the server's certificate is not for %s, but for %s", text.Exact(name),
		strings.Join(text.First(has, maxNames), ", "))
}

// askByName returns the error for a server whose certname is not known: an *otherNameError with a name for which its
// certificate is valid, if it has one.
func askByName(c *x509.Certificate) error {
	unknown := failed(NotVerified, "the server's certname is not known, and its certificate has no name")
	for _, name := range namesIn(c) {
		if named(c, name) == nil {
			return &otherNameError{name: name, error: unknown}
		}
	}
	return unknown
}

// namesIn returns the names in a certificate, with something in place of a wildcard.
func namesIn(c *x509.Certificate) (list []string) {
	for _, name := range append([]string{c.Subject.CommonName}, c.DNSNames...) {
		list = append(list, strings.Replace(name, "*", "puppet", 1))
	}
	return list
}

// newest returns the latest of the CRLs that match, or nil.
func (m *material) newest(match func(*x509.RevocationList) bool) (latest *x509.RevocationList) {
	for _, crl := range m.crls {
		if !match(crl) {
			continue
		}

		if latest == nil || crl.ThisUpdate.After(latest.ThisUpdate) {
			latest = crl
		}
	}
	return latest
}

// expired returns an error if a CRL has expired.
func expired(crl *x509.RevocationList, now time.Time) error {
	if crl.NextUpdate.IsZero() || !now.After(crl.NextUpdate) {
		return nil
	}
	return failed(CRLExpired, "the CRL of %s expired at %s", crl.Issuer.CommonName, rfc3339(crl.NextUpdate))
}

// lookUp looks up a verified chain in the CRLs, as deep as configured. The fault, with the reason revoked, says that a
// certificate is listed. The doubt says that a list is missing or has expired: a server that has loaded such a list
// refuses every client, and a server that uses no list refuses none.
func (m *material) lookUp(chain []*x509.Certificate, revoked Reason, now time.Time) (doubt, fault error) {
	depth := len(chain)
	switch m.revocation {
	case RevocationOff:
		return nil, nil
	case RevocationLeaf:
		depth = 1
	}

	for i, c := range chain[:depth] {
		issuer := chain[min(i+1, len(chain)-1)] // the root signed itself
		crl := m.signedBy(issuer)
		if crl == nil {
			doubt = cmp.Or(doubt, m.missing(issuer))
			continue
		}

		if fault := listed(crl, c, revoked); fault != nil {
			return nil, fault
		}
		doubt = cmp.Or(doubt, expired(crl, now))
	}
	return doubt, nil
}

// missing returns the error for a CA without a readable CRL in the file.
func (m *material) missing(issuer *x509.Certificate) error {
	if skipped := m.crlSkips.err(); skipped != nil {
		return failed(CRLMissing, "no CRL of %s in the CRL file can be read: %w", issuer.Subject.CommonName, skipped)
	}
	return failed(CRLMissing, "no CRL of %s in the CRL file", issuer.Subject.CommonName)
}

// listed returns an error with the reason revoked if a CRL lists a certificate.
func listed(crl *x509.RevocationList, c *x509.Certificate, revoked Reason) error {
	for _, entry := range crl.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(c.SerialNumber) == 0 {
			return failed(revoked, "certificate %s (serial %X) was revoked at %s",
				c.Subject.CommonName, c.SerialNumber, rfc3339(entry.RevocationTime))
		}
	}
	return nil
}

// signedBy returns the latest CRL that the issuer signed, or nil.
func (m *material) signedBy(issuer *x509.Certificate) *x509.RevocationList {
	return m.newest(func(crl *x509.RevocationList) bool {
		return crl.Issuer.String() == issuer.Subject.String() && crl.CheckSignatureFrom(issuer) == nil
	})
}

// verifyOwn finds out, as far as the files show, whether a server would refuse our certificate. The fault, an *Error,
// says why it would. The doubt says why it may refuse any certificate: see lookUp.
func (m *material) verifyOwn(now time.Time) (doubt, fault error) {
	leaf := m.own.Leaf
	if leaf == nil {
		return nil, m.ownErr
	}
	if now.After(leaf.NotAfter) {
		return nil, failed(OwnCertExpired, "our certificate %s", validity(leaf))
	}
	if now.Before(leaf.NotBefore) {
		return nil, failed(OwnCertNotYetValid, "our certificate %s", validity(leaf))
	}
	if m.roots == nil {
		return m.expiredByName(leaf, now), nil // no signature can be verified
	}

	chains, err := m.chains([]*x509.Certificate{leaf}, x509.ExtKeyUsageClientAuth, now)
	if m.mayHaveSkippedCA(err) {
		return m.expiredByName(leaf, now), nil
	}
	if err != nil {
		return nil, ownError(leaf, err, now)
	}
	return m.lookUp(chains[0], OwnCertRevoked, now)
}

// ownError returns the error for our certificate, which is valid at now and cannot be verified.
func ownError(leaf *x509.Certificate, err error, now time.Time) error {
	invalid, is := errors.AsType[x509.CertificateInvalidError](err)
	isDate := is && invalid.Reason == x509.Expired && invalid.Cert != nil
	if !isDate {
		return failed(OwnCertForeign, "our certificate %s was issued by %s: %w",
			leaf.Subject.CommonName, leaf.Issuer.CommonName, err)
	}

	ca := invalid.Cert
	if now.Before(ca.NotBefore) {
		return failed(OwnCertNotYetValid, "our certificate's chain: %s", validity(ca))
	}
	return failed(CAExpired, "CA certificate %s", validity(ca))
}

// expiredByName returns an error if the newest CRL in the name of the issuer of a certificate has expired.
func (m *material) expiredByName(c *x509.Certificate, now time.Time) error {
	crl := m.newest(func(crl *x509.RevocationList) bool { return crl.Issuer.String() == c.Issuer.String() })
	if crl == nil {
		return nil
	}
	return expired(crl, now)
}

// trouble returns why our certificate is not offered: it cannot be used, or a server would refuse it, as far as the
// files show.
func (m *material) trouble(now time.Time) error {
	_, fault := m.verifyOwn(now)
	return fault
}
