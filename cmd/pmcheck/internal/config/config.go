// Package config turns pmcheck.yaml, PMCHECK_ variables, the flag --listen and the host's
// puppet.conf into one immutable Config.
//
// Loading is strict. All mistakes are reported at once, each with its line: a setting
// that is silently ignored is worse than a daemon that does not start. The sources,
// strongest first: flag, environment, pmcheck.yaml, puppet.conf, default. viper knows
// which of the first three counts, and decodes it into the struct with the defaults.
// Puppet is asked for what is still empty then, and at last all rules are checked.
//
// To add a section: declare its struct and its defaults in a file of its own, and
// name it once in Config and once in Default. Its rules are in the struct's tags,
// as in [check.Check]; rules for more than one key are in Config.validate.
// The sections of the checks come from check.All, and so do the keys below checks.
package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// Config is the whole configuration, in the order in which Settings lists it.
// Treat it as immutable: a reload makes a new one. The zero value is not valid;
// begin with Default.
type Config struct {
	// Listen is the TCP address of the HTTP listener, host:port; the host may be empty.
	Listen string `yaml:"listen"`
	// Allow lists the networks that may connect; never empty.
	Allow []netip.Prefix `yaml:"allow" required:"leave it out to allow every client"`
	// StatusAllow lists the networks that may read /status, besides loopback.
	StatusAllow []netip.Prefix `yaml:"status_allow"`
	// Balancers lists the networks of the balancers that count; empty means all.
	Balancers []netip.Prefix `yaml:"balancers"`

	// Services lists further services of the master's Status API, each with a path
	// of its own.
	Services []string `yaml:"services"`

	// Fleet lists the masters of the pool, the same on each: for commands that show all of
	// them, for the times at which each may leave, and for the gate of the last one.
	Fleet []string `yaml:"fleet"`

	// MaxOut is how many masters of the pool may be out at one time, by what balancers show or, with a
	// budget, by the database.
	MaxOut MaxOut `yaml:"max_out"`

	Puppet Puppet `yaml:"puppet"`
	Probe  Probe  `yaml:"probe"`
	// Checks are all checks, with the severities and settings that are configured:
	// each is a key below checks, and each that has settings is a section.
	Checks check.List
	Guard  Guard `yaml:"guard"`
	Gate   Gate  `yaml:"gate"`
	// Budget has no effect while Budget.Database is empty.
	Budget Budget `yaml:"budget"`
	Log    Log    `yaml:"log"`

	// HoldsIn and Socket are not settings: tests and the demo run beside the daemon of the host.
	// HoldsIn, or the variable PMCHECK_HOLDS, is a directory that has the directories of holds and,
	// unless PMCHECK_SOCKET names another, the socket. Empty means the fixed directories.
	HoldsIn string
	// Socket is the path of the read-only unix socket.
	Socket string
}

// Puppet says where Puppet's own configuration is.
type Puppet struct {
	// Conf is the absolute path of puppet.conf; empty means one of the known layouts.
	Conf string `yaml:"conf" path:"optional"`
}

// Log is how the daemon logs.
type Log struct {
	Level LogLevel `yaml:"level"`
}

// LogLevel is the least severe level that is logged, as slog.Level reads it.
type LogLevel string

// Words lists the levels.
func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }

// Default returns the configuration of a host without pmcheck.yaml. The settings that
// only Puppet knows (certname, certificate, key, ca, crl) are empty in it, and
// Probe.MaxAge is 0; Load fills them in.
func Default() Config {
	return Config{
		Listen:      ":9200",
		Allow:       []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		StatusAllow: []netip.Prefix{},
		Balancers:   []netip.Prefix{},
		Services:    []string{},
		Fleet:       []string{},
		MaxOut:      "1",
		Probe:       defaultProbe(),
		Checks:      check.All(),
		Guard:       defaultGuard(),
		Gate:        Gate{Except: []netip.Prefix{}},
		Budget:      defaultBudget(),
		Log:         Log{Level: "info"},
		Socket:      "/run/pmcheck/pmcheck.sock",
	}
}

// warnings returns a sentence for each mistake with which the daemon runs all the same, since
// one that it refuses would keep it from starting after an upgrade.
func (c Config) warnings() (list []string) {
	for i, m := range c.Fleet {
		if slices.ContainsFunc(c.Fleet[:i], func(s string) bool { return strings.EqualFold(s, m) }) {
			list = append(list, "fleet lists "+m+" twice")
		}
	}
	check := func(key string, networks []netip.Prefix) {
		for _, n := range networks {
			if !slices.ContainsFunc(c.Allow, n.Overlaps) {
				list = append(list, fmt.Sprintf("%s has %s, but allow has not: connections from there are reset", key, n))
			}
		}
	}
	check("status_allow", c.StatusAllow)
	check("balancers", c.Balancers)
	return list
}

// Store returns the store of holds. No setting names its directories, so that the commands, the
// guard and the daemon agree on them whatever the configuration says.
func (c Config) Store() *drain.Store {
	s := &drain.Store{
		Persistent:  "/var/lib/pmcheck/holds",
		UntilReboot: "/run/pmcheck/holds",
	}
	if c.HoldsIn != "" {
		s.Persistent, s.UntilReboot = filepath.Join(c.HoldsIn, "holds"), filepath.Join(c.HoldsIn, "run")
	}
	return s
}
