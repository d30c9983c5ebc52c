package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// Checks says what each check beside the probe may do to the verdict.
type Checks struct {
	JRuby    Severity `mapstructure:"jruby"`
	Unit     Severity `mapstructure:"unit"`
	Expiry   Severity `mapstructure:"expiry"`
	Loaded   Severity `mapstructure:"loaded"`
	Disk     Severity `mapstructure:"disk"`
	Code     Severity `mapstructure:"code"`
	PuppetDB Severity `mapstructure:"puppetdb"`
	Compile  Severity `mapstructure:"compile"`
}

// JRuby says how the pool of JRuby instances is judged.
type JRuby struct {
	// Interval is the time between two looks at the pool.
	Interval time.Duration `mapstructure:"interval"`
	// WarmingMax is how long instances missing after a start keep the master out.
	WarmingMax time.Duration `mapstructure:"warming_max"`
	// StuckAfter is how long requests may wait with no instance coming back.
	StuckAfter time.Duration `mapstructure:"stuck_after"`
	// BusyFall is Probe.Fall for a master whose pool was seen saturated.
	BusyFall int `mapstructure:"busy_fall"`
}

// Unit names the master's unit in systemd.
type Unit struct {
	// Names are tried in turn; the first that is loaded is watched.
	Names []string `mapstructure:"names"`
}

// Expiry says when certificates and CRLs are to be warned of.
type Expiry struct {
	Warn time.Duration `mapstructure:"warn"`
}

// Disk says how free space is judged.
type Disk struct {
	// Paths are the directories that Puppet Server writes to.
	Paths []string `mapstructure:"paths"`
	// Reads are those it reads only: their file systems may be full, or
	// read-only, without agents failing.
	Reads []string `mapstructure:"reads"`
	// WarnPercent and EjectMiB are the free space below which somebody should
	// look, and below which agents fail.
	WarnPercent int           `mapstructure:"warn_percent"`
	EjectMiB    int           `mapstructure:"eject_mib"`
	Interval    time.Duration `mapstructure:"interval"`
}

// Code says where the deployed environments are.
type Code struct {
	Dir      string        `mapstructure:"dir"` // empty: the check is not made
	Interval time.Duration `mapstructure:"interval"`
}

// PuppetDB says where the master's PuppetDB answers.
type PuppetDB struct {
	Address  string        `mapstructure:"address"`  // host:port; empty: the check is not made
	Certname string        `mapstructure:"certname"` // empty: the host of Address
	Interval time.Duration `mapstructure:"interval"`
}

// Compile says how the deep check, off by default, compiles a catalog.
type Compile struct {
	Interval  time.Duration `mapstructure:"interval"`
	Timeout   time.Duration `mapstructure:"timeout"`
	SlowAfter time.Duration `mapstructure:"slow_after"`
}

func defaultChecks() Checks {
	return Checks{
		JRuby: SeverityEject, Unit: SeverityEject, Expiry: SeverityWarn, Loaded: SeverityWarn,
		Disk: SeverityEject, Code: SeverityWarn, PuppetDB: SeverityWarn, Compile: SeverityOff,
	}
}

func defaultJRuby() JRuby {
	return JRuby{Interval: 5 * time.Second, WarmingMax: 5 * time.Minute, StuckAfter: 2 * time.Minute, BusyFall: 5}
}

func defaultCompile() Compile {
	return Compile{Interval: 10 * time.Minute, Timeout: 2 * time.Minute, SlowAfter: time.Minute}
}

func (c Config) checkRules() []rule {
	interval := func(key string, d time.Duration) rule { return withinTime(key, d, time.Second, 24*time.Hour) }
	rules := []rule{
		interval("jruby.interval", c.JRuby.Interval),
		withinTime("jruby.warming_max", c.JRuby.WarmingMax, time.Second, 24*time.Hour),
		withinTime("jruby.stuck_after", c.JRuby.StuckAfter, time.Second, 24*time.Hour),
		within("jruby.busy_fall", c.JRuby.BusyFall, 1, 100),
		{keys("unit.names"), len(c.Unit.Names) > 0, "is empty", "to watch no unit, set checks.unit: off"},
		withinTime("expiry.warn", c.Expiry.Warn, time.Hour, 10*365*24*time.Hour),
		within("disk.warn_percent", c.Disk.WarnPercent, 0, 99),
		within("disk.eject_mib", c.Disk.EjectMiB, 0, 1<<20),
		interval("disk.interval", c.Disk.Interval),
		interval("code.interval", c.Code.Interval),
		interval("puppetdb.interval", c.PuppetDB.Interval),
		withinTime("compile.interval", c.Compile.Interval, time.Minute, 24*time.Hour),
		withinTime("compile.timeout", c.Compile.Timeout, time.Second, time.Hour),
		withinTime("compile.slow_after", c.Compile.SlowAfter, time.Second, time.Hour),
	}
	for _, path := range c.Disk.Paths {
		rules = append(rules, absolute("disk.paths", path))
	}
	for _, path := range c.Disk.Reads {
		rules = append(rules, absolute("disk.reads", path))
	}
	if c.Code.Dir != "" {
		rules = append(rules, absolute("code.dir", c.Code.Dir))
	}
	if c.PuppetDB.Address != "" {
		rules = append(rules, rule{keys("puppetdb.address"), isTarget(c.PuppetDB.Address), show(c.PuppetDB.Address) + " is not a host and port", "such as localhost:8081"})
	}
	return append(rules, c.serviceRules()...)
}

// serviceRules check the names of services, which become paths and parts of
// the names of holds. Paths with a meaning of their own are not free.
func (c Config) serviceRules() []rule {
	taken := map[string]string{"server": "is always there", "puppetdb": "is there when puppetdb.address is set",
		"live": "is a path of its own", "status": "is a path of its own", "metrics": "is a path of its own"}
	var rules []rule
	name := func(key, n string) {
		rules = append(rules,
			rule{keys(key), drain.CheckName(n) == nil, show(n) + " is not the name of a service", "a-z, 0-9, dot, underscore and hyphen"},
			rule{keys(key), taken[n] == "", show(n) + " " + taken[n], ""})
		taken[n] = "is listed twice"
	}
	for _, n := range c.Services {
		name("services", n)
	}
	for _, s := range c.TCPServices {
		n, address, _ := strings.Cut(s, "=")
		name("tcp_services", n)
		rules = append(rules, rule{keys("tcp_services"), isTarget(address), fmt.Sprintf("%s has no host and port", show(s)), "such as pcp=localhost:8142"})
	}
	return rules
}

// ServerName returns the certname to expect of PuppetDB.
func (p PuppetDB) ServerName() string {
	if p.Certname != "" {
		return p.Certname
	}
	host, _, err := net.SplitHostPort(p.Address)
	if err != nil {
		return p.Address
	}
	return host
}

// places fills in where this packaging of Puppet keeps what the checks look
// at, unless somebody said otherwise. Around a puppet.conf in a place of its
// own nothing can be presumed.
func (p *puppetHost) places() {
	if !p.layout.known() {
		return
	}
	at := place{layerPuppet, 0, p.layout.name}
	for key, paths := range map[string][]string{"disk.paths": {p.layout.vardir, p.layout.logdir()}, "disk.reads": {p.layout.codedir()}} {
		if given, ok := p.given[key].value.([]string); !ok || len(given) == 0 {
			p.found.set(key, paths, at)
		}
	}
	if p.wants("code.dir") {
		p.found.set("code.dir", filepath.Join(p.layout.codedir(), "environments"), at)
	}
}

// codedir is where the code of the environments is.
func (l layout) codedir() string {
	switch {
	case strings.HasPrefix(l.confdir, "/etc/puppetlabs"):
		return "/etc/puppetlabs/code"
	case l.vardir == "/var/lib/puppet": // Puppet 3
		return "/etc/puppet"
	}
	return "/etc/puppet/code"
}

// logdir is where Puppet Server logs.
func (l layout) logdir() string {
	switch {
	case strings.HasPrefix(l.confdir, "/etc/puppetlabs"):
		return "/var/log/puppetlabs/puppetserver"
	case l.vardir == "/var/lib/puppet": // Puppet 3
		return "/var/log/puppet"
	}
	return "/var/log/puppetserver"
}
