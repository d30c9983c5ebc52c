package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// remote makes the client for a master's /status. A host is a name, a name
// with a port, or the URL of one that speaks TLS, which is verified with
// Puppet's CA.
func remote(host string, settings config.Config) (api.Client, error) {
	if !strings.Contains(host, "://") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "9200")
		}
		return api.Client{URL: "http://" + host}, nil
	}
	u, err := url.Parse(host)
	if err != nil || u.Host == "" || u.Path != "" || u.Scheme != "http" && u.Scheme != "https" {
		return api.Client{}, usageError("%q is not a host: write m1, m1:9200 or https://m1:9200", host)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "9200")
	}
	c := api.Client{URL: u.String()}
	if u.Scheme == "https" {
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
