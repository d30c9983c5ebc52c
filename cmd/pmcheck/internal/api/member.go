package api

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// MemberURL returns the URL of pmcheck on a master of the pool: a name or an
// address, with or without a port, or the URL of a host. Its port is 9200 unless
// the member names one. It returns an error for every other text.
func MemberURL(member string) (string, error) {
	if !config.IsMember(member) {
		return "", fmt.Errorf("%q is not a host: write m1, m1:9200 or https://m1:9200", member)
	}
	scheme, host, found := strings.Cut(member, "://")
	if !found {
		scheme, host = "http", member
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + host + "]"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "9200")
	}
	return (&url.URL{Scheme: scheme, Host: host}).String(), nil
}
