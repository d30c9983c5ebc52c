package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// guessName returns a guess at the certname of a host whose puppet.conf has none, and
// why it is that.
//
// Puppet takes the fully qualified name that facter finds. Facter may ask the DNS;
// a check must not depend on that, so the certificates on disk decide: the one for
// a name of this host, else the only one there is. Without any the host has not
// been enrolled yet, and its fullest name is what Puppet will most likely choose.
func (p *puppetHost) guessName(certdir string) (name, why string, err error) {
	names, err := p.hostNames()
	if name, why = p.certified(certdir, names); name != "" {
		return name, why, nil
	}
	if err != nil {
		return "", "", err
	}
	p.warnings = append(p.warnings, "probe.certname is a guess: no certificate named "+names[0]+" is seen in "+certdir+
		" (set certname in puppet.conf, or probe.certname)")
	return names[0], "host name", nil
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
