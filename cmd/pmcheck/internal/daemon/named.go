package daemon

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// namesThisHost reports whether a request is for an address, or for a name of this host. A browser that may read the
// status, also one at the other end of an SSH tunnel, can be led here by the page of a stranger whose name resolves to
// an address of this host (DNS rebinding). The request then has the stranger's name, and the page could read what is
// answered. HTTP/1.0 needs no name.
func (d *Daemon) namesThisHost(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")

	if host == "" {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true // nobody can make an address resolve to another
	}

	own, _ := os.Hostname()
	c := d.settings.Load()
	names := append([]string{"localhost", own, c.Probe.Certname}, c.Checks.Expiry().Names...)
	return slices.ContainsFunc(names, func(name string) bool {
		short, _, _ := strings.Cut(name, ".") // as Debian has it in /etc/hosts
		return strings.EqualFold(host, name) || strings.EqualFold(host, short)
	})
}
