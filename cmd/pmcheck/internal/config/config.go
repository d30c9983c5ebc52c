// Package config makes one immutable Config of pmcheck.yaml, PMCHECK_ variables and the host's puppet.conf.
//
// Loading is strict: a setting that is silently ignored is worse than a daemon that does not start. All
// mistakes are reported at once. The sources, strongest first: environment, pmcheck.yaml, puppet.conf, default.
// Puppet is asked only for what the first two leave empty.
//
// A setting is a field with the tag yaml, here or in the settings of a check. Its rules are in the other tags, as in
// [check.Check], in its UnmarshalText, or in validate.go.
//
// viper has the defaults, reads the file and the environment, lets the stronger win, and decodes texts into the
// fields. Ours is what it has no place for: the lines of mistakes, unknown keys with the key that was meant, where a
// value comes from, and bounds.
package config

import (
	"net/netip"
	"path/filepath"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// Config is the whole configuration, in the order in which Settings lists it.
// Treat it as immutable: a reload makes a new one. The zero value is not valid;
// begin with Default.
type Config struct {
	// Listen is the TCP address of the HTTP listener, host:port; the host may be empty.
	Listen string `yaml:"listen"`
	// Allow lists the networks that may connect; never empty.
	Allow []netip.Prefix `yaml:"allow"`
	// StatusAllow lists the networks that may read /status, besides loopback.
	StatusAllow []netip.Prefix `yaml:"status_allow"`
	// Balancers lists the networks of the balancers that count; empty means all.
	Balancers []netip.Prefix `yaml:"balancers"`

	// Services lists further services of the master's Status API, each with a path
	// of its own.
	Services []string `yaml:"services"`

	// Fleet lists the masters of the pool, the same on each.
	Fleet []string `yaml:"fleet"`

	// MaxOut is how many masters of the pool may be out at one time, by what balancers show or, with a
	// budget, by the database.
	MaxOut answer.MaxOut `yaml:"max_out"`

	Puppet Puppet `yaml:"puppet"`
	Probe  Probe  `yaml:"probe"`
	// Checks are all checks, with the severities that are configured, each a key below checks, and the settings of
	// each, a section of its own.
	Checks check.List
	Guard  Guard `yaml:"guard"`
	Gate   Gate  `yaml:"gate"`
	// Budget has no effect while Budget.Database is zero.
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
	Conf string `yaml:"conf" path:"absolute"`
}

// Probe says how the master is probed.
type Probe struct {
	// Address is the master's host:port; with http:// before it for one on this host whose TLS ends
	// at the balancer.
	Address string `yaml:"address"`
	// Assumed is set if no source names Address: it is the default, where another program may listen.
	Assumed bool `yaml:"-"`
	// Certname is the master's name: TLS server name, Host header, certificate subject.
	Certname string `yaml:"certname"`
	// Names are other names of the master that agents use, as far as puppet.conf has them.
	Names []string `yaml:"-"`
	// Guessed is set if Certname and Files are not what Puppet's configuration says now.
	Guessed bool `yaml:"-"`
	// Files are offered to the master by every probe, and verify it.
	puppetclient.Files
	// Interval is the time from the start of one probe to the start of the next, while the master
	// is healthy; otherwise it is a second at most.
	Interval time.Duration `yaml:"interval" min:"100ms" max:"5m"`
	// Timeout is the longest that one probe may take; below Interval.
	Timeout time.Duration `yaml:"timeout" min:"10ms" max:"5m"`
	// MaxAge is how old a verdict may be and still be answered. Load derives it.
	MaxAge time.Duration `yaml:"-"`
	// ServerPort is the port that puppet.conf has for agents; empty if it has none.
	ServerPort string `yaml:"-"`
	// Environment is the environment of this host's agent; empty if puppet.conf has none whose name can be in a URL.
	Environment string `yaml:"-"`
}

// outlives returns what MaxAge has to be. A verdict must outlive the longest normal time between two results, or
// a slow master would be unknown instead of healthy or unhealthy: an interval, then a probe. One more interval covers a
// probe that a busy scheduler started late.
func (p Probe) outlives() time.Duration {
	// A master that answers, and leaves connections waiting, is asked twice, and twice given the time to accept one.
	longest := 2 * (p.Longest() + check.AcceptTime)
	return 2*p.Interval + longest
}

// Longest returns how long a probe takes of a master that is silent: it waits for an answer, and finds out whether the
// process accepts connections.
func (p Probe) Longest() time.Duration { return max(p.Timeout, p.Timeout/3+check.AcceptTime) }

// Guard says how long the guard may wait. pmcheck-guard@.service runs it before
// Puppet Server stops and after it has started; its own timeouts are above the
// largest values here.
type Guard struct {
	// Turn is how long a stop waits for its turn: for servers that are expected back.
	Turn time.Duration `yaml:"turn" min:"0s" max:"1h"`
	// Wait is how long a stop waits, once drained, until agents have left.
	Wait time.Duration `yaml:"wait" min:"0s" max:"1h"`
	// Shutdown is how long both may take while the host shuts down. systemd 252 forces a reboot after 30 minutes
	// (JobTimeoutSec of reboot.target and poweroff.target); Puppet Server needs up to a minute of them to stop.
	Shutdown time.Duration `yaml:"shutdown" min:"0s" max:"28m"`
	// Return is how long the hold stays after a start that does not become healthy.
	Return time.Duration `yaml:"return" min:"0s" max:"1h"`
}

// Gate says whom pmcheck-gate.service leaves alone.
type Gate struct {
	// Except lists the networks whose connections are never refused.
	Except []netip.Prefix `yaml:"except"`
}

// Log is how the daemon logs.
type Log struct {
	Level LogLevel `yaml:"level"`
}

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
		MaxOut:      answer.MaxOut{Number: 1},
		Probe: Probe{
			Address:  "localhost:8140",
			Interval: 5 * time.Second,
			Timeout:  1500 * time.Millisecond,
		},
		Checks: check.All(),
		Guard: Guard{
			Turn:     20 * time.Minute,
			Wait:     5 * time.Minute,
			Shutdown: 5 * time.Minute,
			Return:   10 * time.Minute,
		},
		Gate:   Gate{Except: []netip.Prefix{}},
		Budget: Budget{Pool: "puppet", Lapse: 30 * time.Minute},
		Log:    Log{Level: "info"},
		Socket: "/run/pmcheck/pmcheck.sock",
	}
}

// Store returns the store of holds. No setting names its directories, so that the commands, the
// guard and the daemon agree on them whatever the configuration says.
func (c Config) Store() *drain.Store {
	s := &drain.Store{
		Persistent:  "/var/lib/pmcheck/holds",
		UntilReboot: "/run/pmcheck/holds",
	}
	if c.HoldsIn != "" {
		s.Persistent = filepath.Join(c.HoldsIn, "holds")
		s.UntilReboot = filepath.Join(c.HoldsIn, "run")
	}
	return s
}

// Budget limits how many masters of a pool may be out at one time.
type Budget struct {
	// Database is zero without a budget.
	Database Database `yaml:"database"`
	// Pool names the masters that share a budget.
	Pool string `yaml:"pool"`
	// Lapse is how long a master that does not renew its slot counts as out.
	Lapse time.Duration `yaml:"lapse" min:"5m" max:"30d"`
}
