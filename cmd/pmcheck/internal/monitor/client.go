package monitor

import (
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// newClient returns a client of the master for a configuration. Clients may
// share credentials.
func newClient(c config.Probe, credentials *puppetclient.Credentials) puppetclient.Client {
	return puppetclient.Client{
		Address:     c.Address,
		ServerName:  c.Certname,
		Timeout:     c.Timeout,
		Handshake:   c.Handshake,
		Credentials: credentials,
	}
}

func newCredentials(c config.Probe) *puppetclient.Credentials {
	return &puppetclient.Credentials{Files: puppetclient.Files{
		Certificate: c.Certificate,
		Key:         c.Key,
		CA:          c.CA,
		CRL:         c.CRL,
		Revocation:  c.Revocation,
	}}
}
