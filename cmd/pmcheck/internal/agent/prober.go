package agent

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// NewProber returns a prober of the master for a configuration.
func NewProber(c config.Probe) *check.Prober {
	return &check.Prober{Environment: c.Environment, Client: newClient(c, newCredentials(c))}
}

// newClient returns a client that asks the master as a configuration says, with
// credentials that others may have as well.
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
