package puppetconf

import (
	"cmp"
	"path/filepath"
)

// layout is where a packaging of Puppet has its files.
type layout struct {
	name    string // as an origin
	confdir string
	ssldir  string
	vardir  string
	codedir string // of the code of the environments; empty if that is not known
	rundir  string
	logdir  string
	public  string // of what any user may read: the publicdir
	cadir   string // of the CA, unless it is in ssldir
	seen    *sight
	puppet3 bool // puppet.conf may have what later versions refuse
}

// layouts returns the known layouts, the likeliest first. Debian's Puppet Server and the
// Ruby master share /etc/puppet. Of the Ruby master only the certificates are looked for.
func layouts(seen *sight) []layout {
	aio := layout{
		name:    "AIO layout",
		confdir: "/etc/puppetlabs/puppet",
		ssldir:  "/etc/puppetlabs/puppet/ssl",
		vardir:  "/opt/puppetlabs/server/data/puppetserver",
		codedir: "/etc/puppetlabs/code",
		rundir:  "/var/run/puppetlabs/puppetserver",
		logdir:  "/var/log/puppetlabs/puppetserver",
		public:  "/opt/puppetlabs/puppet/public",
		cadir:   "/etc/puppetlabs/puppetserver/ca",
	}

	old := layout{
		name:    "Puppet 3 layout",
		confdir: "/etc/puppet",
		ssldir:  "/var/lib/puppet/ssl",
		vardir:  "/var/lib/puppet",
		rundir:  "$vardir/run",
		logdir:  "$vardir/log",
		public:  "$vardir/public",
		cadir:   "$ssldir/ca",
		puppet3: true,
	}
	if seen.exists("/etc/puppet/puppetserver") {
		old.name = "Debian layout"
		old.vardir = "/var/lib/puppetserver"
		old.codedir = "/etc/puppet/code"
		old.rundir = "/run/puppetserver"
		old.logdir = "/var/log/puppetserver"
		old.public = "/var/cache/puppet/public"
		old.cadir = "/etc/puppet/puppetserver/ca"
		old.puppet3 = false
	}
	// Both fall back to Puppet's own default once the directory is gone.
	if !seen.exists(old.ssldir) && seen.exists("/etc/puppet/ssl") {
		old.ssldir = "/etc/puppet/ssl"
	}
	aio.seen = seen
	old.seen = seen
	return []layout{aio, old}
}

// layoutOf returns the layout of this host: the one around conf if that is not
// empty, else the first that has a puppet.conf or an ssldir.
func layoutOf(conf string, seen *sight) (found layout, ok bool) {
	known := layouts(seen)
	dir := filepath.Dir(conf)
	for _, l := range known {
		isHere := l.confdir == dir
		if conf == "" {
			isHere = seen.exists(l.conf()) || seen.exists(l.ssldir)
		}
		if isHere {
			return l, true
		}
	}

	elsewhere := layout{
		name:    "Puppet's default",
		confdir: dir,
		ssldir:  filepath.Join(dir, "ssl"),
		vardir:  known[0].vardir,
		rundir:  known[0].rundir,
		logdir:  known[0].logdir,
		public:  known[0].public,
		cadir:   known[0].cadir,
		seen:    seen,
	}
	return elsewhere, conf != ""
}

func (l layout) conf() string { return filepath.Join(l.confdir, "puppet.conf") }

// defaults returns the defaults that a packaging gives to the programs of Puppet, by setting.
func (l layout) defaults(as program) map[string]string {
	return map[string]string{
		"name":      string(as),
		"confdir":   l.confdir,
		"vardir":    l.vardir,
		"codedir":   cmp.Or(l.codedir, filepath.Join(l.confdir, "code")),
		"ssldir":    l.ssldir,
		"rundir":    l.rundir,
		"logdir":    l.logdir,
		"publicdir": l.public,
	}
}
