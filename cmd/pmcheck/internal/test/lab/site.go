package lab

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// StandInName is the certname of a site's stand-in master.
const StandInName = "standin.lab.example"

// SiteOptions configures a site. The zero value is a stand-in master and a pmcheck with its
// default settings, both on 127.0.0.1.
type SiteOptions struct {
	// YAML holds further lines of pmcheck.yaml. MASTER in them stands for the address of
	// the master.
	YAML string
	// Name is the certname of the stand-in. Default StandInName.
	Name string
	// Server is a real master on this machine instead of the stand-in.
	Server *PuppetServer
	// Listen is the address that pmcheck answers on. Default a port of 127.0.0.1.
	Listen string
	// Remembers keeps pmcheck's runtime directory over its restarts, as systemd does. A daemon leaves there what the next
	// goes on from. Otherwise each daemon knows nothing but that balancers have been heard for an hour.
	Remembers bool
	// Puppet is a real master on a booted Host. The systemd of that host runs pmcheck: see
	// Install. Of the other options, only YAML is used then.
	Puppet *PuppetMaster
	// Host is a booted host without a PuppetMaster, instead of Puppet.
	Host *Host
}

// A Site is a master with pmcheck beside it: on this machine, in the network
// namespace of the test process, or on a Host. Methods are safe for concurrent use only
// where documented.
type Site struct {
	TB      testing.TB // of the current test; see With
	Dir     string     // pmcheck's own files; empty on a Host
	Listen  string     // host:port where pmcheck answers balancers
	Holds   *drain.Store
	Master  *checktest.Master // the stand-in; nil with a real master
	Server  *PuppetServer     // a real master on this machine, or nil
	Puppet  *PuppetMaster     // a real master on a Host, or nil
	Host    *Host             // or nil
	Net     *Network          // of Host; nil is that of the test process
	HAProxy *HAProxy          // started by Balance

	conf      string // path of puppet.conf
	runtime   string // directory; empty on a Host
	remembers bool
	daemon    *process
	client    *http.Client
}

// NewSite makes the files of a site. Start starts its pmcheck, except on a Host, where
// systemd does.
func NewSite(tb testing.TB, opts SiteOptions) *Site {
	tb.Helper()
	s := &Site{TB: tb, Host: opts.Host, Puppet: opts.Puppet}
	if s.Puppet != nil {
		s.Host = s.Puppet.Host
	}
	if s.Host != nil {
		s.Net = s.Host.net
		s.Listen = net.JoinHostPort(s.Host.Address, "9200")
		s.client = newClient(s.Net.DialContext)
		if opts.YAML != "" {
			s.Configure(opts.YAML)
		}
		return s
	}
	s.client = newClient(nil)
	s.Dir = tempDir(tb) // the path that tb.TempDir returns is too long for a unix socket
	if s.Listen = opts.Listen; s.Listen == "" {
		s.Listen = Address(tb, "127.0.0.1")
	}
	if s.Server = opts.Server; s.Server != nil {
		s.conf = s.Server.path("puppet/puppet.conf")
	} else {
		var err error
		s.Master, err = checktest.NewMaster(tb.TempDir(), cmp.Or(opts.Name, StandInName), Address(tb, "127.0.0.1"))
		Must(tb, err)
		tb.Cleanup(func() { s.Master.Close() })
		s.conf = filepath.Join(s.Master.Dir, "puppet.conf")
	}
	s.Holds = &drain.Store{Persistent: filepath.Join(s.Dir, "holds"), UntilReboot: filepath.Join(s.Dir, "run")}
	Must(tb, os.Mkdir(s.Holds.Persistent, 0o755))
	Must(tb, os.Mkdir(s.Holds.UntilReboot, 0o755))
	s.runtime = tempDir(tb)
	s.remembers = opts.Remembers
	s.Configure(opts.YAML)
	return s
}

// StartSite makes the files of a site, starts its pmcheck and waits until it serves.
func StartSite(tb testing.TB, opts SiteOptions) *Site {
	tb.Helper()
	s := NewSite(tb, opts)
	s.Start()
	s.WaitServing(2 * time.Minute) // the JRubies of a young server may still be starting
	return s
}

// With returns a copy of the site for use in a subtest.
func (s *Site) With(tb testing.TB) *Site {
	sub := *s
	sub.TB = tb
	return &sub
}

// SetMaster puts the stand-in into a state.
func (s *Site) SetMaster(state checktest.State) {
	s.TB.Helper()
	Must(s.TB, s.Master.Set(state))
}

// MasterAddress returns the host:port of the master.
func (s *Site) MasterAddress() string {
	switch {
	case s.Host != nil:
		return net.JoinHostPort(s.Host.Address, "8140")
	case s.Server != nil:
		return s.Server.Address()
	}
	return s.Master.Address()
}

// ConfigFile returns the path of pmcheck.yaml.
func (s *Site) ConfigFile() string {
	if s.Host != nil {
		return config.DefaultFile
	}
	return filepath.Join(s.Dir, "pmcheck.yaml")
}

// Socket returns the path of pmcheck's socket on this machine.
func (s *Site) Socket() string { return filepath.Join(s.Dir, "pmcheck.sock") }

// Configure writes pmcheck.yaml with these lines. For a site on this machine it adds those
// that keep the site away from the machine's own files and master.
func (s *Site) Configure(yaml string) {
	s.TB.Helper()
	yaml = strings.ReplaceAll(yaml, "MASTER", s.MasterAddress())
	if s.Host != nil {
		s.Host.WriteFile(s.ConfigFile(), yaml, 0o644)
		return
	}
	own := fmt.Sprintf("listen: %q\npuppet: {conf: %s}\n", s.Listen, s.conf)
	const probe = "probe: {"
	address := "address: localhost:" + Port(s.TB, s.MasterAddress())
	if !strings.Contains(yaml, probe) {
		own += probe + address + "}\n"
	}
	Write(s.TB, s.ConfigFile(), own+strings.Replace(yaml, probe, probe+address+", ", 1))
}
