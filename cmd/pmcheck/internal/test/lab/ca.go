//go:build linux

package lab

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// A CA is a Puppet CA without a Puppet Server.
type CA struct {
	tb        testing.TB
	authority authority
}

// NewCA returns a new CA.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	return &CA{tb: tb, authority: newAuthority(tb, "Puppet CA: lab")}
}

// Enroll issues the host's certificate, with further names in it, and puts it where Debian's
// Puppet keeps it, with the key, the CA's certificate and the revocation list.
func (c *CA) Enroll(h *Host, altNames ...string) {
	c.tb.Helper()
	cert, key := c.authority.issue(c.tb, h.FQDN(), func(cert *x509.Certificate) {
		cert.DNSNames = append(cert.DNSNames, altNames...)
	})
	crl := c.authority.revocationList(c.tb, &x509.RevocationList{Number: randomSerial(c.tb)},
		time.Now().Add(24*time.Hour))
	for path, content := range map[string][]byte{
		"/certs/" + h.FQDN() + ".pem":        encodePEM("CERTIFICATE", cert),
		"/private_keys/" + h.FQDN() + ".pem": encodePEM("RSA PRIVATE KEY", key),
		"/certs/ca.pem":                      encodePEM("CERTIFICATE", c.authority.cert.Raw),
		"/crl.pem":                           encodePEM("X509 CRL", crl),
	} {
		h.WriteFile(masterSSL+path, string(content), 0o640)
	}
	h.MustRun("chown", "-R", "puppet:puppet", masterSSL)
}

// TLS returns a configuration for a client or server of the test. Both sides must have a
// certificate of the CA.
func (c *CA) TLS(certname string) *tls.Config {
	c.tb.Helper()
	der, key := c.authority.issue(c.tb, certname, nil)
	cert, err := tls.X509KeyPair(encodePEM("CERTIFICATE", der), encodePEM("RSA PRIVATE KEY", key))
	if err != nil {
		c.tb.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(c.authority.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		RootCAs:      trusted,
		ClientCAs:    trusted,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
}
