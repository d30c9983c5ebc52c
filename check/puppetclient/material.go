package puppetclient

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Revocation says which certificates of a chain are looked up in revocation lists. Its
// values are those of Puppet's certificate_revocation.
type Revocation string

// The depths of a revocation check. The zero value means RevocationChain,
// Puppet's own default.
const (
	RevocationChain Revocation = "chain" // every certificate up to the root
	RevocationLeaf  Revocation = "leaf"  // the master's certificate only
	RevocationOff   Revocation = "off"   // none; the CRL file is not even read
)

// material is one consistent set of everything a handshake needs, read from
// the files at one moment. It is immutable.
type material struct {
	own           tls.Certificate // with Leaf set; zero if it cannot be used
	bundle        []*x509.Certificate
	roots         *x509.CertPool // the self-signed certificates of the bundle; nil if it cannot be used
	intermediates *x509.CertPool // the others
	crls          []*x509.RevocationList
	revocation    Revocation
	why           error  // why not all of the files can be used
	described     Answer // with what the files contain, and nothing else
}

// parseMaterial returns as much of the files as can be used, and the first error. Without a
// usable certificate and key, own is zero; without a CA bundle, roots is nil, and without CRLs,
// nothing is looked up in them.
func parseMaterial(f Files, p pemFiles) (*material, error) {
	m := &material{revocation: f.Revocation}
	var ownErr, crlErr error
	if m.own, ownErr = parseOwn(p[0], p[1]); ownErr != nil {
		m.own, ownErr = tls.Certificate{}, fmt.Errorf("%s with key %s: %w", f.Certificate, f.Key, ownErr)
	}
	caErr := m.parseBundle(p[2])
	if caErr != nil {
		m.bundle, m.roots, caErr = nil, nil, fmt.Errorf("%s: %w", f.CA, caErr)
	}
	if m.revocation != RevocationOff {
		if m.crls, crlErr = parseCRLs(p[3]); crlErr != nil {
			m.revocation, crlErr = RevocationOff, fmt.Errorf("%s: %w", f.CRL, crlErr)
		}
	}
	m.described = m.describe()
	return m, cmp.Or(ownErr, caErr, crlErr)
}

// whole reports whether m can identify this host and verify others.
func (m *material) whole() bool { return m.own.Leaf != nil && m.roots != nil }

// parseOwn reads a certificate, with any intermediates after it, and its key
// in PKCS#1, SEC1 or PKCS#8 form.
func parseOwn(certificate, key []byte) (tls.Certificate, error) {
	if err := cmp.Or(wholePEM(certificate, "certificate"), wholePEM(key, "key")); err != nil {
		return tls.Certificate{}, err
	}
	if encrypted(key) {
		return tls.Certificate{}, errors.New(
			"the key is protected by a passphrase, which pmcheck cannot use: store it without one, mode 0640, group puppet")
	}
	return tls.X509KeyPair(certificate, key)
}

// wholePEM returns an error if a file is empty or half written.
func wholePEM(data []byte, what string) error {
	if len(strings.TrimSpace(string(data))) == 0 {
		return fmt.Errorf("the %s file is empty", what)
	}
	begins := strings.Count(string(data), "-----BEGIN ")
	if ends := strings.Count(string(data), "-----END "); begins == 0 || begins != ends {
		return fmt.Errorf("the %s file is not complete PEM: %d BEGIN and %d END lines", what, begins, ends)
	}
	return nil
}

// blocks returns the PEM blocks of these types; without types it returns all blocks.
func blocks(data []byte, types ...string) (list []*pem.Block) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if len(types) == 0 || slices.Contains(types, block.Type) {
			list = append(list, block)
		}
	}
	return list
}

func encrypted(key []byte) bool {
	return slices.ContainsFunc(blocks(key), func(b *pem.Block) bool {
		return b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED")
	})
}

// parseBundle splits Puppet's CA file into trust anchors, which are self-signed, and
// intermediates. The order in the file does not matter.
func (m *material) parseBundle(data []byte) error {
	if err := wholePEM(data, "CA"); err != nil {
		return err
	}
	m.roots, m.intermediates = x509.NewCertPool(), x509.NewCertPool()
	for _, block := range blocks(data, "CERTIFICATE", "TRUSTED CERTIFICATE") {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("CA certificate: %w", err)
		}
		m.bundle = append(m.bundle, c)
	}
	for _, c := range m.bundle {
		if string(c.RawIssuer) == string(c.RawSubject) {
			m.roots.AddCert(c)
		} else {
			m.intermediates.AddCert(m.linked(c))
		}
	}
	if m.roots.Equal(x509.NewCertPool()) {
		return errors.New("no self-signed root in the CA file")
	}
	return nil
}

func parseCRLs(data []byte) ([]*x509.RevocationList, error) {
	if err := wholePEM(data, "CRL"); err != nil {
		return nil, err
	}
	var crls []*x509.RevocationList
	for _, block := range blocks(data, "X509 CRL") {
		crl, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("CRL: %w", err)
		}
		crls = append(crls, crl)
	}
	if len(crls) == 0 {
		return nil, errors.New("no X509 CRL in the CRL file")
	}
	return crls, nil
}

// nextExpiry returns when the first of the certificates and CRLs of a connection expires after
// a time; zero if none does.
func (m *material) nextExpiry(peers []*x509.Certificate, after time.Time) (first time.Time) {
	var ends []time.Time
	for _, c := range slices.Concat(peers, m.bundle) {
		ends = append(ends, c.NotAfter)
	}
	if m.own.Leaf != nil {
		ends = append(ends, m.own.Leaf.NotAfter)
	}
	for _, crl := range m.crls {
		ends = append(ends, crl.NextUpdate)
	}
	ends = slices.DeleteFunc(ends, func(end time.Time) bool { return !end.After(after) })
	if len(ends) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(ends, time.Time.Compare)
}
