package monitor

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// newClient returns a client of the master for a configuration. Clients may
// share credentials.
func newClient(c config.Probe, credentials *check.Credentials) check.Client {
	return check.Client{
		Address:     c.Address,
		ServerName:  c.Certname,
		Timeout:     c.Timeout,
		Handshake:   c.Handshake,
		Credentials: credentials,
	}
}

func newCredentials(c config.Probe) *check.Credentials {
	return &check.Credentials{Files: check.Files{
		Certificate: c.Certificate,
		Key:         c.Key,
		CA:          c.CA,
		CRL:         c.CRL,
		Revocation:  check.Revocation(c.Revocation),
	}}
}
