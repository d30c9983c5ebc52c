package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// remote makes the client for a master's /status. A host is a name, a name
// with a port, or the URL of one that speaks TLS, which is verified with
// Puppet's CA.
func remote(host string, settings config.Config) (api.Client, error) {
	url, err := api.MemberURL(host)
	if err != nil {
		return api.Client{}, usageError("%w", err)
	}
	c := api.Client{URL: url}
	if strings.HasPrefix(url, "https:") {
		bundle, err := os.ReadFile(settings.Probe.CA)
		if err != nil {
			return c, fmt.Errorf("CA for %s: %w", host, err)
		}
		c.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		c.TLS.RootCAs.AppendCertsFromPEM(bundle)
	}
	return c, nil
}

// fleetExit is the exit status for the worst of the masters.
func fleetExit(members []api.Member) int {
	exit := exitOK
	for _, m := range members {
		switch {
		case m.Status == nil:
			return exitNoDaemon
		case statusExit(*m.Status) == exitUnhealthy:
			exit = exitUnhealthy
		case statusExit(*m.Status) == exitHeld && exit == exitOK:
			exit = exitHeld
		}
	}
	return exit
}
