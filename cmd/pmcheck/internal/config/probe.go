package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// Probe says how the master is probed. All paths are absolute and name PEM files.
type Probe struct {
	// Address is the master's host:port; with http:// before it for one on this host whose TLS ends
	// at the balancer.
	Address string `yaml:"address"`
	// Certname is the master's name: TLS server name, Host header, certificate subject.
	Certname string `yaml:"certname"`
	// Certificate and Key are offered to the master by every probe.
	Certificate string `yaml:"certificate" path:"optional"`
	Key         string `yaml:"key" path:"optional"`
	// CA is the bundle that the master's certificate must chain to.
	CA string `yaml:"ca" path:"optional"`
	// CRL is the bundle of revocation lists; unused with puppetclient.RevocationOff.
	CRL string `yaml:"crl" path:"optional"`
	// Revocation is certificate_revocation of puppet.conf.
	Revocation puppetclient.Revocation `yaml:"-"`
	// Environment is the Puppet environment named in the URLs that need one, that of puppet.conf.
	Environment string `yaml:"-"`
	// Interval is the time from the start of one probe to the start of the next, while the master
	// is healthy; otherwise it is a second at most.
	Interval time.Duration `yaml:"interval" min:"100ms" max:"5m"`
	// Timeout is the longest that one probe may take; below Interval.
	Timeout time.Duration `yaml:"timeout" min:"10ms" max:"5m"`
	// Fall is the number of timeouts in a row that make it unhealthy, on another host.
	Fall int `yaml:"fall" min:"1" max:"100"`
	// MaxAge is how old a verdict may be and still be answered. Load derives it.
	MaxAge time.Duration `yaml:"-"`
}

func defaultProbe() Probe {
	return Probe{
		Address:     "localhost:8140",
		Revocation:  puppetclient.RevocationChain,
		Environment: "production",
		Interval:    5 * time.Second,
		Timeout:     1500 * time.Millisecond,
		Fall:        1,
	}
}

// Credentials returns the files with which this host identifies itself and verifies others, each
// time as a new reader of them.
func (p Probe) Credentials() *puppetclient.Credentials {
	return &puppetclient.Credentials{Files: puppetclient.Files{
		Certificate: p.Certificate,
		Key:         p.Key,
		CA:          p.CA,
		CRL:         p.CRL,
		Revocation:  p.Revocation,
	}}
}

// silence is the longest normal time from one result to the verdict that the master is silent:
// one interval, then Fall timeouts, each followed by the next attempt at once, or the time in which
// a process must accept a connection.
func (p Probe) silence() time.Duration {
	return p.Interval + max(time.Duration(p.Fall)*p.Timeout, p.Timeout/3+check.AcceptTime)
}

// maxAge returns MaxAge. A verdict must outlive the longest normal gap, or a slow master would be
// unknown instead of unhealthy. One more interval covers a probe that a busy scheduler started late.
func (p Probe) maxAge() time.Duration { return p.silence() + p.Interval }

func (j judge) probe(p Probe) {
	target, plain := strings.CutPrefix(p.Address, "http://")
	j.rule("probe.address", isTarget(target), show(p.Address)+" is not a host and port", "such as localhost:8140")
	j.rule("probe.address", !plain || !isTarget(target) || tcp.IsLocal(target), show(p.Address)+" is on another host",
		"plain HTTP is for a master on this host, whose TLS ends at the balancer")
	j.rule("probe.certname", isCertname(p.Certname), show(p.Certname)+" is not a certname",
		"lower case, no spaces, no slash")
	j.rule("probe.timeout", p.Timeout < p.Interval,
		fmt.Sprintf("%s is not below probe.interval, %s", text.Duration(p.Timeout), text.Duration(p.Interval)),
		"a probe has to end before the next begins", "probe.interval")
}

func isAddress(s string) bool {
	host, port, _ := net.SplitHostPort(s) // both are empty if s has no port
	_, notIP := netip.ParseAddr(host)
	return isPort(port) && (host == "" || notIP == nil || regexp.MustCompile(`^[0-9A-Za-z._-]+$`).MatchString(host))
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isTarget(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && isAddress(s) && strings.Trim(port, "0") != ""
}

// IsMember reports whether s names a master of the pool: a host, or a host and port.
func IsMember(s string) bool {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is6() {
		// Without a port, colons need no brackets.
		return regexp.MustCompile(`^[0-9A-Za-z._-]*$`).MatchString(addr.Zone())
	}
	member := regexp.MustCompile(`^(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::([1-9][0-9]*))?$`)
	parts := member.FindStringSubmatch(s)
	return parts != nil && (parts[1] == "" || isPort(parts[1]))
}

// isCertname also accepts the empty name, for a certname that is not known yet.
func isCertname(s string) bool {
	return s == strings.ToLower(s) && !strings.ContainsAny(s, "/\\ \t\r\n\x00")
}
