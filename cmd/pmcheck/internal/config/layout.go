package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A layout is where one packaging of Puppet keeps its files.
type layout struct {
	name    string // as an origin
	confdir string
	ssldir  string
	vardir  string
	codedir string // of the code of the environments; empty if that is not known
	logdir  string // of Puppet Server
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
		logdir:  "/var/log/puppetlabs/puppetserver",
	}
	old := layout{
		name:    "Puppet 3 layout",
		confdir: "/etc/puppet",
		ssldir:  "/var/lib/puppet/ssl",
		vardir:  "/var/lib/puppet",
	}
	if o.exists("/etc/puppet/puppetserver") {
		old.name, old.vardir = "Debian layout", "/var/lib/puppetserver"
		old.codedir, old.logdir = "/etc/puppet/code", "/var/log/puppetserver"
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
