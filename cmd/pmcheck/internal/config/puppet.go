package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

// askPuppet fills in the settings that are empty and that Puppet's configuration has, and what is derived from that
// configuration and cannot be set.
func (l *loader) askPuppet() {
	probe := &l.config.Probe
	l.said = puppetconf.Read(puppetconf.Host{
		Root:     l.options.Root,
		Conf:     l.config.Puppet.Conf,
		Certname: probe.Certname,
		Files:    probe.Files,
		Plain:    strings.HasPrefix(probe.Address, "http://"),
		Known:    l.options.Known,
	})

	probe.Certname = l.said.Certname
	probe.Files = l.said.Files
	probe.Names = l.said.Names
	probe.Guessed = l.said.Guessed
	probe.ServerPort = l.said.ServerPort
	probe.Environment = l.said.Environment
	for key, setting := range map[string]string{
		"probe.certname":    "certname",
		"probe.certificate": "hostcert",
		"probe.key":         "hostprivkey",
		"probe.ca":          "localcacert",
		"probe.crl":         "hostcrl",
	} {
		if at, isFound := l.said.From[setting]; isFound {
			l.places[key] = at
		}
	}

	l.tellChecks()
}

// tellChecks gives the checks what Puppet's configuration says for them, unless they are configured.
func (l *loader) tellChecks() {
	checks := l.config.Checks
	expiry := checks.Expiry()
	expiry.Names = l.said.Requested
	checks = checks.With(expiry)

	if disk := checks.Disk(); len(disk.Paths) == 0 && l.said.Vardir != "" {
		disk.Paths = []string{l.said.Vardir}
		checks = checks.With(disk)
		l.places["disk.paths"] = l.said.Layout
	}
	if code := checks.Code(); code.Dir == "" && l.said.Environments != "" {
		code.Dir = l.said.Environments
		checks = checks.With(code)
		l.places["code.dir"] = l.said.Layout
	}

	if l.said.Doubt != nil {
		checks = checks.With(l.said.Check)
	}
	l.config.Checks = checks
}

// Identity returns the identity in use, to be saved; the zero value while there is a Doubt about it.
func (l *Loaded) Identity() puppetconf.Identity {
	if l.said == nil || l.Doubt != nil {
		return puppetconf.Identity{}
	}
	return l.said.Identity
}

// Again reads Puppet's configuration again, and nothing else. known is what Puppet's configuration said last. Again
// returns l if there is nothing new: a file is read when it has changed, and not by the clock. Again may hang with the
// file system.
func (l *Loaded) Again(known puppetconf.Identity) (*Loaded, error) {
	isNews := !reflect.DeepEqual(known, l.from.Known)
	isChanged := l.said != nil && l.said.Changed()
	if !isNews && !isChanged {
		return l, nil
	}

	o := l.from
	o.Known = known
	o.Content = append([]byte{}, l.Content...) // an edited pmcheck.yaml waits for its reload
	again, err := Load(o)
	again.File = l.File
	again.Content = l.Content
	return again, err
}

// Equal reports whether two configurations say the same.
func (l *Loaded) Equal(other *Loaded) bool {
	if !slices.Equal(l.Settings(), other.Settings()) {
		return false
	}

	mine := &l.Config
	others := &other.Config
	sameProbe := reflect.DeepEqual(mine.Probe, others.Probe)
	sameNames := slices.Equal(mine.Checks.Expiry().Names, others.Checks.Expiry().Names)
	sameDoubt := mine.Checks.Identity() == others.Checks.Identity()
	return sameProbe && sameNames && sameDoubt
}
