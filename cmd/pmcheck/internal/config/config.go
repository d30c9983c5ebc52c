// Package config turns pmcheck.yaml, PMCHECK_ variables, command-line flags and
// the host's puppet.conf into one immutable Config.
//
// Loading is strict. Every mistake is reported, all at once, with the line it
// stands on: a setting that is silently ignored is worse than a daemon that does
// not start. The sources, strongest first: flag, environment, pmcheck.yaml,
// puppet.conf, default.
//
// To add a section: declare its struct, give it defaults and a rules method in a
// file of its own, and name it once in Config, once in Default and once in
// Config.rules. Reading, suggestions, environment variables and Settings follow
// from the struct's mapstructure tags.
package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// Config is the whole configuration, in the order in which Settings lists it.
// Treat it as immutable: a reload makes a new one. The zero value is not valid;
// begin with Default.
type Config struct {
	// Listen is the TCP address of the HTTP listener, host:port; the host may be empty.
	Listen string `mapstructure:"listen"`
	// Allow are the networks that may ask at all; never empty.
	Allow []netip.Prefix `mapstructure:"allow"`
	// StatusAllow are the networks that may read /status, besides loopback.
	StatusAllow []netip.Prefix `mapstructure:"status_allow"`
	// Balancers are the networks whose balancers are listened to; empty means all.
	Balancers []netip.Prefix `mapstructure:"balancers"`
	// MaxConnections caps the connections open at one time.
	MaxConnections int `mapstructure:"max_connections"`
	// TLS says whether the listener speaks TLS, and with which certificate.
	TLS TLSMode `mapstructure:"tls"`
	// TLSCertificate, TLSKey and TLSClientCA are absolute paths of PEM files, empty
	// unless TLS is TLSFiles. With TLSClientCA a client must show a certificate.
	TLSCertificate string `mapstructure:"tls_certificate"`
	TLSKey         string `mapstructure:"tls_key"`
	TLSClientCA    string `mapstructure:"tls_client_ca"`
	// Socket is the absolute path of the read-only unix socket.
	Socket string `mapstructure:"socket"`
	// InitialMode is the mode of a host on which nobody has ever set one.
	InitialMode InitialMode `mapstructure:"initial_mode"`

	// Services are further services of the master's Status API, each with a path
	// of its own.
	Services []string `mapstructure:"services"`
	// TCPServices are services that are only connected to, as name=host:port.
	TCPServices []string `mapstructure:"tcp_services"`

	// Fleet are the masters of the pool, for commands that show all of them.
	Fleet []string `mapstructure:"fleet"`

	Holds    Holds    `mapstructure:"holds"`
	Puppet   Puppet   `mapstructure:"puppet"`
	Probe    Probe    `mapstructure:"probe"`
	Checks   Checks   `mapstructure:"checks"`
	JRuby    JRuby    `mapstructure:"jruby"`
	Unit     Unit     `mapstructure:"unit"`
	Expiry   Expiry   `mapstructure:"expiry"`
	Disk     Disk     `mapstructure:"disk"`
	Code     Code     `mapstructure:"code"`
	PuppetDB PuppetDB `mapstructure:"puppetdb"`
	Compile  Compile  `mapstructure:"compile"`
	Agent    Agent    `mapstructure:"agent"`
	Log      Log      `mapstructure:"log"`
}

// Holds are the directories that hold files are kept in.
type Holds struct {
	// Persistent is the directory of the holds that survive a reboot.
	Persistent string `mapstructure:"persistent"`
	// UntilReboot is the directory of those that do not.
	UntilReboot string `mapstructure:"until_reboot"`
}

// Puppet says where Puppet's own configuration is.
type Puppet struct {
	// Conf is the absolute path of puppet.conf; empty means one of the known layouts.
	Conf string `mapstructure:"conf"`
}

// Log is how the daemon logs.
type Log struct {
	Level  LogLevel  `mapstructure:"level"`
	Format LogFormat `mapstructure:"format"`
}

// Default returns the configuration of a host without pmcheck.yaml. What only
// Puppet can tell (certname, certificate, key, ca, crl) is empty in it, and
// Probe.MaxAge is 0; Load fills them in.
func Default() Config {
	return Config{
		Listen:         ":9200",
		Allow:          []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		StatusAllow:    []netip.Prefix{},
		Balancers:      []netip.Prefix{},
		MaxConnections: 1024,
		TLS:            TLSOff,
		Socket:         "/run/pmcheck/pmcheck.sock",
		InitialMode:    ModeReady,
		Holds:          Holds{Persistent: "/var/lib/pmcheck/holds", UntilReboot: "/run/pmcheck/holds"},
		Services:       []string{},
		TCPServices:    []string{},
		Fleet:          []string{},
		Probe:          defaultProbe(),
		Checks:         defaultChecks(),
		JRuby:          defaultJRuby(),
		Unit:           Unit{Names: []string{"puppetserver.service", "pe-puppetserver.service"}},
		Expiry:         Expiry{Warn: 30 * 24 * time.Hour},
		Disk:           Disk{Paths: []string{}, Reads: []string{}, WarnPercent: 10, EjectMiB: 64, Interval: 15 * time.Second},
		Code:           Code{Interval: 30 * time.Second},
		PuppetDB:       PuppetDB{Interval: 15 * time.Second},
		Compile:        defaultCompile(),
		Log:            Log{Level: LevelInfo, Format: FormatAuto},
	}
}

// Store returns the holds of the configuration.
func (c Config) Store() *drain.Store {
	return &drain.Store{
		Persistent:  c.Holds.Persistent,
		UntilReboot: c.Holds.UntilReboot,
		Initial:     drain.Mode(c.InitialMode),
	}
}

// A rule is one condition on a configuration. It is about keys[0]; the other keys
// also take part in it, and it says nothing while one of them could not be read.
type rule struct {
	keys    []string
	ok      bool
	problem string
	hint    string
}

func (c Config) rules() []rule {
	rules := []rule{
		{keys("listen"), isAddress(c.Listen), show(c.Listen) + " is not an address", "host:port, or :9200 for every interface"},
		{keys("allow"), len(c.Allow) > 0, "is empty: nobody could ask", "leave it out to allow everybody"},
		within("max_connections", c.MaxConnections, 1, 65536),
		// sun_path of a unix socket holds 107 bytes and a NUL.
		{keys("socket"), len(c.Socket) <= 107, fmt.Sprintf("is %d bytes long", len(c.Socket)), "a socket path has at most 107"},
		absolute("socket", c.Socket),
	}
	for _, m := range c.Fleet {
		rules = append(rules, rule{keys("fleet"), isMember(m), show(m) + " is not a master", "such as m1, m1:9200 or https://m1:9200"})
	}
	rules = append(rules, c.tlsRules()...)
	rules = append(rules, c.Holds.rules()...)
	if c.Puppet.Conf != "" {
		rules = append(rules, absolute("puppet.conf", c.Puppet.Conf))
	}
	rules = append(rules, c.Probe.rules()...)
	rules = append(rules, c.Agent.rules(c.Listen)...)
	return append(rules, c.checkRules()...)
}

func (c Config) tlsRules() []rule {
	files := map[string]string{"tls_certificate": c.TLSCertificate, "tls_key": c.TLSKey, "tls_client_ca": c.TLSClientCA}
	var rules []rule
	for _, key := range []string{"tls_certificate", "tls_key", "tls_client_ca"} {
		path := files[key]
		switch {
		case path != "":
			rules = append(rules, absolute(key, path),
				rule{keys(key, "tls"), c.TLS == TLSFiles, fmt.Sprintf("means nothing with tls: %s", c.TLS), "set tls: files"})
		case key != "tls_client_ca":
			rules = append(rules, rule{keys(key, "tls"), c.TLS != TLSFiles, "is missing", "tls: files needs tls_certificate and tls_key"})
		}
	}
	return rules
}

func (h Holds) rules() []rule {
	return []rule{
		absolute("holds.persistent", h.Persistent),
		absolute("holds.until_reboot", h.UntilReboot),
		{keys("holds.until_reboot", "holds.persistent"), h.UntilReboot != h.Persistent,
			"is the same directory as holds.persistent", "a reboot must tell the two apart"},
	}
}

func keys(k ...string) []string { return k }

func absolute(key, path string) rule {
	return rule{keys(key), filepath.IsAbs(path), show(path) + " is not an absolute path", ""}
}

func within(key string, n, low, high int) rule {
	return rule{keys(key), low <= n && n <= high, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("%d to %d", low, high)}
}

func withinTime(key string, d, low, high time.Duration) rule {
	return rule{keys(key), low <= d && d <= high, fmt.Sprintf("%s is out of range", short(d)), fmt.Sprintf("%s to %s", short(low), short(high))}
}
