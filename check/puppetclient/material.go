package puppetclient

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Revocation says which certificates of a chain are looked up in revocation lists. Its
// values are those of Puppet's certificate_revocation; all but these, and the zero value, mean
// every certificate up to the root.
type Revocation string

// The other depths of a revocation check.
const (
	RevocationLeaf Revocation = "leaf"  // the server's certificate only
	RevocationOff  Revocation = "false" // none; the CRL file is not even read
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
	why           error // why not all of the files can be used
}

// parseMaterial returns as much of the files as can be used, and the first error. Without a
// usable certificate and key, own is zero; without a CA bundle, roots is nil, and without CRLs,
// nothing is looked up in them.
func parseMaterial(f Files, p pemFiles) (*material, error) {
	m := &material{revocation: f.Revocation}
	ownErr, caErr, crlErr := m.parseOwn(p[0], p[1]), m.parseBundle(p[2]), error(nil)
	if ownErr != nil {
		m.own, ownErr = tls.Certificate{}, fmt.Errorf("%s with key %s: %w", f.Certificate, f.Key, ownErr)
	}
	if caErr != nil {
		m.bundle, m.roots, caErr = nil, nil, fmt.Errorf("%s: %w", f.CA, caErr)
	}
	if m.revocation != RevocationOff {
		if crlErr = m.parseCRLs(p[3]); crlErr != nil {
			m.crls, m.revocation, crlErr = nil, RevocationOff, fmt.Errorf("%s: %w", f.CRL, crlErr)
		}
	}
	return m, cmp.Or(ownErr, caErr, crlErr)
}

// parseOwn reads a certificate, with any intermediates after it, and its key
// in PKCS#1, SEC1 or PKCS#8 form.
func (m *material) parseOwn(certificate, key []byte) (err error) {
	if _, err = blocks(certificate, "certificate"); err == nil {
		_, err = blocks(key, "key")
	}
	if err == nil {
		m.own, err = tls.X509KeyPair(certificate, key)
	}
	return err
}

// parseBundle splits Puppet's CA file into trust anchors, which are self-signed, and
// intermediates. The order in the file does not matter.
func (m *material) parseBundle(data []byte) error {
	list, err := blocks(data, "CA", "CERTIFICATE", "TRUSTED CERTIFICATE")
	if err != nil {
		return err
	}
	m.roots, m.intermediates = x509.NewCertPool(), x509.NewCertPool()
	for _, block := range list {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("CA certificate: %w", err)
		}
		m.bundle = append(m.bundle, c)
	}
	for _, c := range m.bundle {
		if bytes.Equal(c.RawIssuer, c.RawSubject) {
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

func (m *material) parseCRLs(data []byte) error {
	list, err := blocks(data, "CRL", "X509 CRL")
	for _, block := range list {
		crl, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return fmt.Errorf("CRL: %w", err)
		}
		m.crls = append(m.crls, crl)
	}
	if err == nil && len(list) == 0 {
		err = errors.New("no X509 CRL in the CRL file")
	}
	return err
}

// blocks returns the PEM blocks of these types. A file that is empty or half written is an error.
func blocks(data []byte, what string, types ...string) (list []*pem.Block, err error) {
	begins, ends := bytes.Count(data, []byte("-----BEGIN ")), bytes.Count(data, []byte("-----END "))
	if begins == 0 || begins != ends {
		return nil, fmt.Errorf("the %s file is not complete PEM: %d BEGIN and %d END lines", what, begins, ends)
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if slices.Contains(types, block.Type) {
			list = append(list, block)
		}
	}
	return list, nil
}

// nextExpiry returns when the first of the certificates and CRLs of a connection expires after
// a time; zero if none does.
func (m *material) nextExpiry(peers []*x509.Certificate, after time.Time) (first time.Time) {
	certificates, ends := slices.Concat(peers, m.bundle), []time.Time(nil)
	if m.own.Leaf != nil {
		certificates = append(certificates, m.own.Leaf)
	}
	for _, c := range certificates {
		ends = append(ends, c.NotAfter)
	}
	for _, crl := range m.crls {
		ends = append(ends, crl.NextUpdate)
	}
	for _, end := range ends {
		if end.After(after) && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	return first
}
