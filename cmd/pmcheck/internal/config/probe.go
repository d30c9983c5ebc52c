package config

import (
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Probe says how the master is probed.
type Probe struct {
	// Address is the master's host:port; with http:// before it for one on this host whose TLS ends
	// at the balancer.
	Address string `yaml:"address"`
	// Certname is the master's name: TLS server name, Host header, certificate subject.
	Certname string `yaml:"certname"`
	// Files are offered to the master by every probe, and verify it.
	puppetclient.Files
	// Interval is the time from the start of one probe to the start of the next, while the master
	// is healthy; otherwise it is a second at most.
	Interval time.Duration `yaml:"interval" min:"100ms" max:"5m"`
	// Timeout is the longest that one probe may take; below Interval.
	Timeout time.Duration `yaml:"timeout" min:"10ms" max:"5m"`
	// MaxAge is how old a verdict may be and still be answered. Load derives it.
	MaxAge time.Duration `yaml:"-"`
}

// maxAge returns MaxAge. A verdict must outlive the longest normal time from one result to the verdict that the master
// is silent, or a slow master would be unknown instead of unhealthy: an interval, then a timeout or the time in which a
// process must accept a connection. One more interval covers a probe that a busy scheduler started late.
func (p Probe) maxAge() time.Duration {
	return 2*p.Interval + max(p.Timeout, p.Timeout/3+check.AcceptTime)
}
