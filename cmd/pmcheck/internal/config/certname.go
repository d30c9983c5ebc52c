package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// guessName returns the certname of a host whose puppet.conf has none, and why.
//
// Puppet takes the fully qualified name that facter finds. Facter may ask the DNS;
// a check must not depend on that, so the certificates on disk decide: the one for
// a name of this host, else the only one there is. Without any the host has not
// been enrolled yet, and its fullest name is what Puppet will most likely choose.
func (p *puppetHost) guessName(certdir string) (name, why string, err error) {
	names, err := p.hostNames()
	for _, name := range names {
		file := filepath.Join(certdir, name+".pem")
		if _, err := os.Stat(filepath.Join(p.Root, file)); err == nil {
			return name, "host name, as in " + file, nil
		}
	}
	only, certs := p.certificates(certdir)
	switch {
	case certs == 1:
		return only, "the only certificate in " + certdir, nil
	case err != nil:
		return "", "", err
	}
	p.warnings = append(p.warnings, "probe.certname is a guess: no certificate named "+names[0]+" is seen in "+certdir+
		" (set certname in puppet.conf, or probe.certname)")
	return names[0], "host name", nil
}

func (o Options) hostname() (string, error) {
	if o.Hostname != nil {
		return o.Hostname()
	}
	return os.Hostname()
}

// hostNames returns the names of this host in lower case, the fullest first.
func (p *puppetHost) hostNames() ([]string, error) {
	host, err := p.hostname()
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

// certificates counts the certificates in certdir besides the CA's, and names one.
func (p *puppetHost) certificates(certdir string) (name string, n int) {
	entries, err := os.ReadDir(filepath.Join(p.Root, certdir))
	if err != nil {
		return "", 0 // the probe says why the certificate cannot be read
	}
	for _, e := range entries {
		if base, ok := strings.CutSuffix(e.Name(), ".pem"); ok && base != "ca" {
			name, n = base, n+1
		}
	}
	return name, n
}
