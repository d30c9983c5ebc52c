package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
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
	options Options
	puppet3 bool // puppet.conf may have what later versions refuse
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
	if o.exists("/etc/puppet/puppetserver") {
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
	if !o.exists(old.ssldir) && o.exists("/etc/puppet/ssl") {
		old.ssldir = "/etc/puppet/ssl"
	}
	aio.options = o
	old.options = o
	return []layout{aio, old}
}

// layout returns the layout of this host: the one around conf if that is not
// empty, else the first that has a puppet.conf or an ssldir.
func (o Options) layout(conf string) (found layout, ok bool) {
	known := o.layouts()
	dir := filepath.Dir(conf)
	for _, l := range known {
		isHere := l.confdir == dir
		if conf == "" {
			isHere = o.exists(l.conf()) || o.exists(l.ssldir)
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
		options: o,
	}
	return elsewhere, conf != ""
}

func (l layout) conf() string { return filepath.Join(l.confdir, "puppet.conf") }

// exists reports whether a path exists. If that cannot be found out, the path counts as
// existing, so that reading it reports the reason.
func (o Options) exists(path string) bool {
	o.note(path)
	_, err := os.Stat(filepath.Join(o.Root, path))
	return !errors.Is(err, fs.ErrNotExist)
}

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

// directories sets the directories that the checks look at to the ones of this packaging of Puppet, unless they are
// configured. If puppet.conf is in another directory, nothing is assumed.
func (l *loader) directories(found layout) {
	if found.codedir == "" {
		return
	}

	at := place{file: found.name}
	if disk := l.config.Checks.Disk(); len(disk.Paths) == 0 {
		disk.Paths = []string{found.vardir}
		l.config.Checks = l.config.Checks.With(disk)
		l.places["disk.paths"] = at
	}
	if code := l.config.Checks.Code(); code.Dir == "" {
		code.Dir = filepath.Join(found.codedir, "environments")
		l.config.Checks = l.config.Checks.With(code)
		l.places["code.dir"] = at
	}
}
