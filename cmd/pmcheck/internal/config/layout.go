package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A layout is where one packaging of Puppet keeps its files.
type layout struct {
	name    string // as an origin
	confdir string
	ssldir  string
	vardir  string
}

// unknownLayout is the name of that around a puppet.conf which is nowhere that
// packages put it.
const unknownLayout = "Puppet's default"

func (l layout) known() bool { return l.name != unknownLayout }

// layouts are the known ones, the likeliest first. Debian's packages and those of
// Puppet 3 share /etc/puppet; only the latter have no configuration of a separate
// server there.
func (o Options) layouts() []layout {
	old := layout{"Puppet 3 layout", "/etc/puppet", "/var/lib/puppet/ssl", "/var/lib/puppet"}
	if o.exists("/etc/puppet/puppetserver") {
		old.name, old.vardir = "Debian layout", "/var/lib/puppetserver"
	}
	// Both fall back to Puppet's own default once the directory is gone.
	if !o.exists(old.ssldir) && o.exists("/etc/puppet/ssl") {
		old.ssldir = "/etc/puppet/ssl"
	}
	aio := layout{"AIO layout", "/etc/puppetlabs/puppet", "/etc/puppetlabs/puppet/ssl",
		"/opt/puppetlabs/server/data/puppetserver"}
	return []layout{aio, old}
}

// layout returns the layout of this host: the one around conf if that is not
// empty, else the first that has a puppet.conf, else the first that has an ssldir.
func (o Options) layout(conf string) (found layout, warnings []string, ok bool) {
	all := o.layouts()
	if conf != "" {
		for _, l := range all {
			if l.conf() == conf {
				return l, nil, true
			}
		}
		dir := filepath.Dir(conf)
		return layout{unknownLayout, dir, filepath.Join(dir, "ssl"), all[0].vardir}, nil, true
	}
	for _, path := range []func(layout) string{layout.conf, func(l layout) string { return l.ssldir }} {
		for i, l := range all {
			if !o.exists(path(l)) {
				continue
			}
			if i == 0 && o.exists(all[1].conf()) && o.exists(l.conf()) {
				warnings = append(warnings,
					"both "+l.conf()+" and "+all[1].conf()+" exist; the former is used (puppet.conf names another)")
			}
			return l, warnings, true
		}
	}
	return layout{}, nil, false
}

// exists tells whether there is something at a path. What cannot be looked at
// counts as there, so that reading it reports the reason.
func (o Options) exists(path string) bool {
	_, err := os.Stat(filepath.Join(o.Root, path))
	return !errors.Is(err, fs.ErrNotExist)
}

// codedir is where the code of the environments is.
func (l layout) codedir() string {
	switch {
	case strings.HasPrefix(l.confdir, "/etc/puppetlabs"):
		return "/etc/puppetlabs/code"
	case l.vardir == "/var/lib/puppet": // Puppet 3
		return "/etc/puppet"
	}
	return "/etc/puppet/code"
}

// logdir is where Puppet Server logs.
func (l layout) logdir() string {
	switch {
	case strings.HasPrefix(l.confdir, "/etc/puppetlabs"):
		return "/var/log/puppetlabs/puppetserver"
	case l.vardir == "/var/lib/puppet": // Puppet 3
		return "/var/log/puppet"
	}
	return "/var/log/puppetserver"
}
