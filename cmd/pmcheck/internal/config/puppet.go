package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

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
	data, err := p.options.read(p.file)
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

func (p *puppetHost) setting(name string) string {
	value, _, _ := p.resolve(name)
	return value
}

// derive takes what cannot be set in pmcheck.yaml: how deep certificates are looked up in the CRL, the port, and the
// names that agents use for this master: those in dns_alt_names, and server, if ca_server is another, so that server is
// not there to reach the CA.
func (p *puppetHost) derive() {
	probe, expiry := &p.Config.Probe, &p.Config.Expiry
	probe.Revocation = puppetclient.Revocation(strings.ToLower(p.setting("certificate_revocation")))
	probe.ServerPort = cmp.Or(p.setting("serverport"), p.setting("masterport")) // its name until Puppet 6
	for name := range strings.SplitSeq(p.setting("dns_alt_names"), ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "DNS:")
		if name != "" && !strings.Contains(name, ":") { // which is IP: and an address
			expiry.Names = append(expiry.Names, strings.ToLower(name))
		}
	}
	server, ca := strings.ToLower(p.setting("server")), strings.ToLower(p.setting("ca_server"))
	probe.Names = append(slices.Clone(expiry.Names), cmp.Or(server, "puppet")) // Puppet's default
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
		if !isCertname(name) {
			return Fault{at, "certname", show(name) + " is not a certname"}
		}
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
	if err == nil && !filepath.IsAbs(path) {
		err = Fault{place{p.file, line}, setting, show(path) + " is not an absolute path"}
	}
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
	if code.Dir == "" {
		code.Dir, p.places["code.dir"] = filepath.Join(p.layout.codedir, "environments"), at
	}
}

type written struct {
	text     string
	line     int
	strength int // of the section
}

// parsePuppetConf reads puppet.conf as Puppet does: line by line, without comments behind values or
// continued lines. Of two lines with the same setting in a section the first counts, and one without a
// value counts as absent.
func parsePuppetConf(data []byte) map[string]written {
	sections := []string{"main", "", "master", "server"} // those that count for a server, the strongest last
	set, section := map[string]written{}, ""
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	for i, text := range lines {
		text = strings.TrimSpace(text)
		if head, is := strings.CutPrefix(text, "["); is {
			section, _, _ = strings.Cut(head, "]")
			continue
		}
		setting, value, _ := strings.Cut(text, "=")
		setting = strings.TrimSpace(setting)
		w := written{clean(value), i + 1, slices.Index(sections, section)}
		if old, again := set[setting]; w.text != "" && w.strength >= 0 && (!again || w.strength > old.strength) {
			set[setting] = w
		}
	}
	return set
}

// clean removes what Puppet does not take as part of a value: quotes around it, and the
// owner and mode of a file, as in "$vardir/ssl { owner = service, mode = 0771 }".
func clean(text string) string {
	return strings.Trim(regexp.MustCompile(`\{[^}]*=[^}]*\}`).ReplaceAllString(text, ""), " \t\r\"'")
}

// resolve returns the value of a setting, with references replaced, and the line of puppet.conf that
// it is from or depends on; 0 if there is none. It is what "puppet config print --section server" would print, for the
// few settings that pmcheck needs. The error is a Fault.
func (p *puppetHost) resolve(setting string) (value string, line int, err error) {
	defaults := p.layout.pathDefaults()
	value = "$" + setting
	problem, last := "", 0 // the line that was expanded last
	for depth := 0; problem == "" && strings.Contains(value, "$"); depth++ {
		value = os.Expand(value, func(name string) string {
			w := p.set[name]
			line, last = cmp.Or(line, w.line), cmp.Or(w.line, last)
			text := cmp.Or(w.text, defaults[name])
			if text == "" && depth > 0 {
				problem = cmp.Or(problem, "refers to $"+name+", which is not known")
			}
			return text
		})
		if depth == 10 || len(value) > 4096 { // Puppet's own defaults refer to each other at most four deep
			problem = cmp.Or(problem, "its references do not end")
		}
	}
	if problem != "" {
		return "", last, Fault{place{p.file, last}, setting, problem}
	}
	return value, line, nil
}

type layout struct {
	name    string // as an origin
	confdir string
	ssldir  string
	vardir  string
	codedir string // of the code of the environments; empty if that is not known
}

// layouts returns the known layouts, the likeliest first. Debian's Puppet Server and the
// Ruby master share /etc/puppet. Of the Ruby master only the certificates are looked for.
func (o Options) layouts() []layout {
	aio := layout{
		name:    "AIO layout",
		confdir: "/etc/puppetlabs/puppet",
		ssldir:  "/etc/puppetlabs/puppet/ssl",
		vardir:  "/opt/puppetlabs/server/data/puppetserver",
		codedir: "/etc/puppetlabs/code",
	}
	old := layout{
		name:    "Puppet 3 layout",
		confdir: "/etc/puppet",
		ssldir:  "/var/lib/puppet/ssl",
		vardir:  "/var/lib/puppet",
	}
	if o.exists("/etc/puppet/puppetserver") {
		old.name, old.vardir = "Debian layout", "/var/lib/puppetserver"
		old.codedir = "/etc/puppet/code"
	}
	// Both fall back to Puppet's own default once the directory is gone.
	if !o.exists(old.ssldir) && o.exists("/etc/puppet/ssl") {
		old.ssldir = "/etc/puppet/ssl"
	}
	return []layout{aio, old}
}

// layout returns the layout of this host: the one around conf if that is not
// empty, else the first that has a puppet.conf or an ssldir.
func (o Options) layout(conf string) (found layout, ok bool) {
	all := o.layouts()
	dir := filepath.Dir(conf)
	for _, l := range all {
		if conf == "" && (o.exists(l.conf()) || o.exists(l.ssldir)) || l.confdir == dir {
			return l, true
		}
	}
	elsewhere := layout{name: "Puppet's default", confdir: dir, ssldir: filepath.Join(dir, "ssl"), vardir: all[0].vardir}
	return elsewhere, conf != ""
}

func (l layout) conf() string { return filepath.Join(l.confdir, "puppet.conf") }

// exists reports whether a path exists. If that cannot be found out, the path counts as
// existing, so that reading it reports the reason.
func (o Options) exists(path string) bool {
	_, err := os.Stat(filepath.Join(o.Root, path))
	return !errors.Is(err, fs.ErrNotExist)
}

// pathDefaults returns Puppet's own defaults for the paths of a host's files.
func (l layout) pathDefaults() map[string]string {
	return map[string]string{
		"confdir":       l.confdir,
		"vardir":        l.vardir,
		"ssldir":        l.ssldir,
		"certdir":       "$ssldir/certs",
		"privatekeydir": "$ssldir/private_keys",
		"hostcert":      "$certdir/$certname.pem",
		"hostprivkey":   "$privatekeydir/$certname.pem",
		"localcacert":   "$certdir/ca.pem",
		"hostcrl":       "$ssldir/crl.pem",
	}
}
