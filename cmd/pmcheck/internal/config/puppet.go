package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A puppetHost finds settings of the probe in the Puppet installation of this host.
type puppetHost struct {
	*Loaded
	layout layout
	file   string             // the path of puppet.conf
	set    map[string]written // the settings in it
}

// askPuppet fills in the settings that are empty and that Puppet's configuration has, and what is derived from that
// configuration and cannot be set. A host without Puppet needs every setting of the probe. The error is a Fault.
func (l *Loaded) askPuppet() error {
	probe := &l.Config.Probe
	layout, found := l.options.layout(l.Config.Puppet.Conf)
	if !found {
		if !slices.Contains([]string{probe.Certname, probe.Certificate, probe.Key, probe.CA, probe.CRL}, "") {
			return nil
		}
		return Fault{problem: "no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
			"(set puppet.conf, or probe.certname, certificate, key, ca and crl)"}
	}
	p := &puppetHost{Loaded: l, layout: layout, file: cmp.Or(l.Config.Puppet.Conf, layout.conf())}
	data, err := os.ReadFile(filepath.Join(p.options.Root, p.file))
	if err != nil && (l.Config.Puppet.Conf != "" || !errors.Is(err, fs.ErrNotExist)) {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = cause.Err // the place has the path already
		}
		return Fault{problem: err.Error(), at: place{p.file, 0}}
	}
	p.set = parsePuppetConf(data)
	p.directories()
	p.derive()
	return cmp.Or(
		p.certname(),
		p.path("probe.certificate", &probe.Certificate, "hostcert"),
		p.path("probe.key", &probe.Key, "hostprivkey"),
		p.path("probe.ca", &probe.CA, "localcacert"),
		p.path("probe.crl", &probe.CRL, "hostcrl"))
}

// setting returns the value of a setting; "" if puppet.conf does not have it, or refers to what is not known.
func (p *puppetHost) setting(name string) string {
	value, _, _ := p.resolve(name)
	return value
}

// derive takes what cannot be set in pmcheck.yaml: how deep certificates are looked up in the CRL, and the names that
// agents use for this master: those in dns_alt_names, and server, if ca_server is another, so that server is not
// there to reach the CA.
func (p *puppetHost) derive() {
	probe, expiry := &p.Config.Probe, &p.Config.Expiry
	probe.Revocation = puppetclient.Revocation(strings.ToLower(p.setting("certificate_revocation")))
	for name := range strings.SplitSeq(p.setting("dns_alt_names"), ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "DNS:")
		if name != "" && !strings.Contains(name, ":") { // which is IP: and an address
			expiry.Names = append(expiry.Names, strings.ToLower(name))
		}
	}
	server, ca := strings.ToLower(p.setting("server")), strings.ToLower(p.setting("ca_server"))
	if server != "" && ca != "" && server != ca && !slices.Contains(expiry.Names, server) {
		expiry.Names = append(expiry.Names, server)
	}
}

// certname finds the name of this host, and defines it for the settings that refer to it. A given
// probe.certname is the name that the master shows. It moves no files.
//
// Puppet takes the fully qualified name that facter finds, perhaps in the DNS. A check must not depend on that, so
// without a certname in puppet.conf the certificates on disk decide.
func (p *puppetHost) certname() error {
	probe := &p.Config.Probe
	name, line, err := p.resolve("certname")
	at := place{p.file, line}
	if line == 0 {
		certdir := p.setting("certdir")
		name, at = p.certified(certdir), place{"certificate in " + certdir, 0}
	}
	if name = cmp.Or(name, probe.Certname); name == "" {
		return cmp.Or[error](err, Fault{place{p.file, 0}, "probe.certname",
			"no certname in it, and no certificate of this host yet (run puppet agent, or set probe.certname)"})
	}
	if probe.Certname == "" {
		probe.Certname, p.places["probe.certname"] = name, at
	}
	p.set["certname"] = written{text: name, line: line}
	return nil
}

// certified returns the name of a certificate in certdir besides the CA's: that of probe.certname, of this host with
// its domain or without, or the only one; "" if there is none of these.
func (p *puppetHost) certified(certdir string) string {
	host, _ := os.Hostname()
	host = strings.ToLower(host)
	for _, pattern := range []string{p.Config.Probe.Certname, host + ".*", host, "*"} {
		files, _ := filepath.Glob(filepath.Join(p.options.Root, certdir, pattern+".pem"))
		files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "ca.pem" })
		if len(files) == 1 {
			return strings.TrimSuffix(filepath.Base(files[0]), ".pem")
		}
	}
	return ""
}

// path sets a key that is empty to the path that a setting of Puppet resolves to.
func (p *puppetHost) path(key string, value *string, setting string) error {
	if *value != "" {
		return nil
	}
	path, line, err := p.resolve(setting)
	if err != nil {
		return err
	}
	*value, p.places[key] = filepath.Clean(path), place{p.layout.name, 0}
	if line > 0 {
		p.places[key] = place{p.file, line}
	}
	return nil
}

// directories sets those that the checks look at to those of this packaging of Puppet, unless they are
// configured. If puppet.conf is in another directory, nothing is assumed.
func (p *puppetHost) directories() {
	if p.layout.codedir == "" {
		return
	}
	at := place{p.layout.name, 0}
	disk, code := &p.Config.Disk, &p.Config.Code
	if len(disk.Paths) == 0 {
		disk.Paths, p.places["disk.paths"] = []string{p.layout.vardir}, at
	}
	disk.Others = []string{p.layout.logdir, p.layout.codedir}
	if code.Dir == "" {
		code.Dir, p.places["code.dir"] = filepath.Join(p.layout.codedir, "environments"), at
	} else {
		disk.Others[1] = code.Dir
	}
}
