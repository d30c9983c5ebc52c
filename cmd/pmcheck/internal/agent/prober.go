package agent

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// NewProber returns a prober of the master for a configuration.
func NewProber(c config.Probe) *check.Prober {
	return &check.Prober{Environment: c.Environment, Client: newClient(c)}
}

// newClient returns a client that asks the master as a configuration says.
func newClient(c config.Probe) check.Client {
	return check.Client{
		Address:    c.Address,
		ServerName: c.Certname,
		Timeout:    c.Timeout,
		Handshake:  c.Handshake,
		Credentials: &check.Credentials{Files: check.Files{
			Certificate: c.Certificate,
			Key:         c.Key,
			CA:          c.CA,
			CRL:         c.CRL,
			Revocation:  check.Revocation(c.Revocation),
		}},
	}
}
