package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// certname finds the name of this host, and defines it for the settings that refer to it.
// A given probe.certname is the name that the master shows. It moves no files.
func (p *puppetHost) certname() bool {
	probe := &p.config.Probe
	name, at, fault := p.ownName(probe.Certname)
	switch {
	case fault != nil && probe.Certname != "":
		name = probe.Certname
	case !p.sound(fault):
		return false
	case probe.Certname == "":
		probe.Certname, p.origins["probe.certname"] = name, at
	}
	if p.conf.known["certname"].value != name {
		p.conf.known["certname"] = resolved{value: name}
	}
	return true
}

// ownName returns the name in the paths of this host's certificate and key, and where it is from:
// the certname in puppet.conf, or else the name of a certificate on disk, or else the given one, if
// any, or else a guess.
//
// Puppet takes the fully qualified name that facter finds. Facter may ask the DNS;
// a check must not depend on that, so the certificates on disk decide: the one for
// a name of this host, else the only one there is. Without any the host has not
// been enrolled yet, and its fullest name is what Puppet will most likely choose.
func (p *puppetHost) ownName(given string) (string, place, *Fault) {
	if r := p.conf.resolve("certname"); r.own > 0 {
		return r.value, p.conf.place(r, ""), r.err
	}
	certdir := p.conf.resolve("certdir")
	if certdir.err != nil {
		return "", place{}, certdir.err
	}
	names, err := p.hostNames()
	if given != "" {
		names = append([]string{given}, names...)
	}
	name, why := p.certified(certdir.value, names)
	switch {
	case name != "":
	case given != "":
		name = given
	case err != nil:
		return "", place{}, &Fault{
			key:     "probe.certname",
			problem: "no certname in it, and no host name to guess from: " + err.Error(),
			hint:    "set probe.certname",
			at:      p.conf.at(0),
		}
	default:
		name, why = names[0], "host name"
		p.warnings = append(p.warnings, "probe.certname is a guess: no certificate named "+name+" is seen in "+
			certdir.value+" (set certname in puppet.conf, or probe.certname)")
	}
	return name, place{layerPuppet, 0, why}, nil
}

// certified returns the first of the names with a certificate in certdir, or else the name
// of the only certificate there, and why it is that; "" if there is none.
func (p *puppetHost) certified(certdir string, names []string) (name, why string) {
	for _, name := range names {
		file := filepath.Join(certdir, name+".pem")
		if _, err := os.Stat(filepath.Join(p.Root, file)); err == nil {
			return name, "host name, as in " + file
		}
	}
	if certs := p.certificates(certdir); len(certs) == 1 {
		return certs[0], "the only certificate in " + certdir
	}
	return "", ""
}

// hostNames returns the names of this host in lower case, the fullest first.
func (p *puppetHost) hostNames() ([]string, error) {
	hostname := p.Hostname
	if hostname == nil {
		hostname = os.Hostname
	}
	host, err := hostname()
	if err != nil {
		return nil, err
	}
	if host = strings.ToLower(host); host == "" {
		return nil, errors.New("this host has no name")
	}
	if domain := p.domain(); domain != "" && !strings.Contains(host, ".") {
		return []string{host + "." + domain, host}, nil
	}
	return []string{host}, nil
}

// domain returns the domain that resolv.conf gives this host, "" if none.
func (p *puppetHost) domain() string {
	data, err := readFile(filepath.Join(p.Root, "/etc/resolv.conf"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "domain" || f[0] == "search") {
			return strings.ToLower(strings.Trim(f[1], "."))
		}
	}
	return ""
}

// certificates returns the names of the certificates in certdir besides the CA's.
func (p *puppetHost) certificates(certdir string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(p.Root, certdir)) // the probe says why a certificate cannot be read
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".pem"); ok && name != "ca" {
			names = append(names, name)
		}
	}
	return names
}
