package lab

import (
	"crypto/tls"
	"crypto/x509"
	"math/big"
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

// Enroll issues the host's certificate and puts it where Debian's Puppet keeps it, with its key, the CA's
// certificate and the revocation list.
func (c *CA) Enroll(h *Host) {
	c.tb.Helper()
	cert, key := c.authority.issue(c.tb, h.FQDN(), nil)
	list := &x509.RevocationList{Number: big.NewInt(0)}
	for path, content := range map[string][]byte{
		"/certs/" + h.FQDN() + ".pem":        encodePEM("CERTIFICATE", cert),
		"/private_keys/" + h.FQDN() + ".pem": encodePEM("RSA PRIVATE KEY", key),
		"/certs/ca.pem":                      encodePEM("CERTIFICATE", c.authority.cert.Raw),
		"/crl.pem": encodePEM("X509 CRL",
			c.authority.revocationList(c.tb, list, time.Now().Add(24*time.Hour))),
	} {
		h.WriteFile(masterSSL+path, string(content), 0o640)
	}
}

// TLS returns a configuration with a certificate of the CA, for a client or a server that trusts nothing else.
func (c *CA) TLS(certname string) *tls.Config {
	c.tb.Helper()
	der, key := c.authority.issue(c.tb, certname, nil)
	cert, err := tls.X509KeyPair(encodePEM("CERTIFICATE", der), encodePEM("RSA PRIVATE KEY", key))
	Must(c.tb, err)

	trusted := x509.NewCertPool()
	trusted.AddCert(c.authority.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		RootCAs:      trusted,
		ClientCAs:    trusted,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
}
