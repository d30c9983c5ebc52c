package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A puppetHost finds settings of the probe in the Puppet installation of this host.
type puppetHost struct {
	Options
	config   *Config
	layout   layout
	conf     *puppetConf
	origins  map[string]place
	faults   *faults
	warnings []string
}

// askPuppet fills in the settings that are empty in c and that Puppet's configuration has, and what
// is derived from that configuration and cannot be set. It returns warnings.
func (o Options) askPuppet(c *Config, origins map[string]place, faults *faults) []string {
	path := c.Puppet.Conf
	if path != "" && !filepath.IsAbs(path) {
		return nil // the rules report it
	}
	p := &puppetHost{Options: o, config: c, origins: origins, faults: faults}
	var ok bool
	if p.layout, p.warnings, ok = o.layout(path); !ok {
		p.without()
		return p.warnings
	}
	if !p.read() {
		return nil
	}
	p.places()
	p.port()
	p.revocation()
	p.environment()
	p.names()
	if p.certname() {
		p.path("probe.certificate", &c.Probe.Certificate, "hostcert")
		p.path("probe.key", &c.Probe.Key, "hostprivkey")
		p.path("probe.ca", &c.Probe.CA, "localcacert")
		p.path("probe.crl", &c.Probe.CRL, "hostcrl")
	}
	return p.warnings
}

// without handles a host without Puppet: it reports the settings that are missing, and
// switches revocation off if no CRL is configured.
func (p *puppetHost) without() {
	var missing []string
	probe := p.config.Probe
	for _, s := range [][2]string{
		{"probe.certname", probe.Certname},
		{"probe.certificate", probe.Certificate},
		{"probe.key", probe.Key},
		{"probe.ca", probe.CA},
	} {
		if s[1] == "" {
			missing = append(missing, s[0])
		}
	}
	if len(missing) > 0 {
		var looked []string
		for _, l := range p.layouts() {
			looked = append(looked, l.conf(), l.ssldir)
		}
		p.faults.add(place{layer: layerPuppet}, "", "no Puppet on this host: there is no "+strings.Join(looked, ", "),
			"set puppet.conf, or "+join(missing))
		return
	}
	if probe.CRL == "" {
		p.config.Probe.Revocation = puppetclient.RevocationOff
		p.warnings = append(p.warnings, "there is no CRL: a revoked certificate of the master goes unnoticed (set probe.crl)")
	}
}

// read reads puppet.conf, which may be absent unless it was named.
func (p *puppetHost) read() bool {
	name := cmp.Or(p.config.Puppet.Conf, p.layout.conf())
	var data []byte
	var err error
	if p.config.Puppet.Conf != "" || p.exists(name) {
		data, err = readFile(filepath.Join(p.Root, name))
	}
	if err == nil {
		p.conf, err = parsePuppetConf(name, data, p.layout.pathDefaults())
	}
	if err != nil {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = cause.Err // the origin has the path already
		}
		p.faults.add(place{layerPuppet, 0, name}, "", err.Error(), "")
	}
	return err == nil
}

// sound reports whether a setting could be resolved. If not, it records the fault, but
// only once.
func (p *puppetHost) sound(fault *Fault) bool {
	if fault != nil && !slices.Contains(p.faults.list, *fault) {
		p.faults.list = append(p.faults.list, *fault)
	}
	return fault == nil
}

// setting resolves the first of several spellings that puppet.conf has.
func (p *puppetHost) setting(names ...string) (name string, r resolved, ok bool) {
	for _, name = range names {
		if r = p.conf.resolve(name); r.own > 0 {
			return name, r, p.sound(r.err)
		}
	}
	return "", r, false
}

// port warns of another port in puppet.conf, which may be that of a balancer to which agents
// connect. Puppet Server ignores it. Its own is in webserver.conf, which the unit hides from the
// daemon together with the keys beside it.
func (p *puppetHost) port() {
	if _, given := p.origins["probe.address"]; given {
		return
	}
	if name, r, ok := p.setting("serverport", "masterport"); ok && r.value != "8140" {
		p.warnings = append(p.warnings, fmt.Sprintf(
			"%s = %s in puppet.conf is where agents connect; Puppet Server is taken to listen on 8140 (set probe.address)",
			name, r.value))
	}
}

// revocation takes how deep certificates are looked up in the CRL.
func (p *puppetHost) revocation() {
	name, r, ok := p.setting("certificate_revocation")
	if !ok {
		return
	}
	switch strings.ToLower(r.value) {
	case "true", "chain":
		p.config.Probe.Revocation = puppetclient.RevocationChain
	case "leaf":
		p.config.Probe.Revocation = puppetclient.RevocationLeaf
	case "false":
		p.config.Probe.Revocation = puppetclient.RevocationOff
	default:
		p.sound(p.conf.fault(r.own, name, show(r.value)+" is not one of chain, leaf, true, false"))
	}
}

// environment takes the environment of the URLs that need one. Any that exists will do, so one
// with a name that Puppet would refuse is left alone: it is no reason to refuse to start.
func (p *puppetHost) environment() {
	r := p.conf.resolve("environment")
	if r.err == nil && regexp.MustCompile(`^\w+$`).MatchString(r.value) {
		p.config.Probe.Environment = r.value
	}
}

// names takes the names that agents use for this master: those in dns_alt_names, and server, if
// ca_server is another, so that server is not there to reach the CA.
func (p *puppetHost) names() {
	expiry := check.Settings[check.ExpirySettings](p.config.Checks)
	if _, r, ok := p.setting("dns_alt_names"); ok {
		for _, name := range strings.Split(r.value, ",") {
			name = strings.TrimPrefix(strings.TrimSpace(name), "DNS:")
			if name != "" && !strings.Contains(name, ":") { // which is IP: and an address
				expiry.Names = append(expiry.Names, strings.ToLower(name))
			}
		}
	}
	_, server, ok := p.setting("server")
	_, ca, other := p.setting("ca_server")
	if ok && other && server.value != ca.value && !slices.Contains(expiry.Names, server.value) {
		expiry.Names = append(expiry.Names, strings.ToLower(server.value))
	}
}

// path sets a key that is empty to the path that a setting of Puppet resolves to.
func (p *puppetHost) path(key string, value *string, setting string) {
	if *value != "" {
		return
	}
	if r := p.conf.resolve(setting); p.sound(r.err) {
		*value, p.origins[key] = filepath.Clean(r.value), p.conf.place(r, p.layout.name)
	}
}

// places sets the directories that the checks look at to those of this packaging of
// Puppet, unless they are configured. If puppet.conf is in another directory, nothing is
// assumed.
func (p *puppetHost) places() {
	if p.layout.codedir == "" {
		return
	}
	at := place{layerPuppet, 0, p.layout.name}
	disk, code := check.Settings[check.DiskSettings](p.config.Checks), check.Settings[check.CodeSettings](p.config.Checks)
	if len(disk.Paths) == 0 {
		disk.Paths, p.origins["disk.paths"] = []string{p.layout.vardir}, at
	}
	disk.Logs, disk.Reads = []string{p.layout.logdir}, []string{p.layout.codedir}
	if code.Dir == "" {
		code.Dir, p.origins["code.dir"] = filepath.Join(p.layout.codedir, "environments"), at
	} else {
		disk.Reads = []string{code.Dir}
	}
}
