package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// sources are what is known of the identity of this host and its master, and from where: the master's name, and the
// files by which the two prove themselves to each other. The keys are settings of pmcheck.yaml.
type sources map[string]source

type source struct {
	value string
	at    place
}

// keyCertname is the key of the master's name.
const keyCertname = "probe.certname"

// identity returns the settings of the identity, by their keys.
func (p *Probe) identity() map[string]*string {
	return map[string]*string{
		keyCertname:         &p.Certname,
		"probe.certificate": &p.Certificate,
		"probe.key":         &p.Key,
		"probe.ca":          &p.CA,
		"probe.crl":         &p.CRL,
	}
}

// identified reports whether all of the identity is set.
func (p Probe) identified() bool {
	for _, value := range p.identity() {
		if *value == "" {
			return false
		}
	}
	return true
}

// unverified reports whether it is not known what to verify the master with. There is nothing to verify without TLS.
func (p Probe) unverified() bool {
	plain := strings.HasPrefix(p.Address, "http://")
	return !plain && (p.Certname == "" || p.CA == "")
}

// fill sets what is empty from these sources, and returns the keys of what it has set.
func (p *Probe) fill(from sources) (filled []string) {
	for key, value := range p.identity() {
		if *value == "" && from[key].value != "" {
			*value = from[key].value
			filled = append(filled, key)
		}
	}
	return filled
}

// with returns the probe with what is empty set from these sources.
func (p Probe) with(from sources) Probe {
	p.fill(from)
	return p
}

// use sets what is empty from these sources, and notes where it is from.
func (l *loader) use(from sources) {
	for _, key := range l.config.Probe.fill(from) {
		l.places[key] = from[key].at
	}
}

// Identity is what Puppet's configuration said once, to be saved. The zero value says nothing.
type Identity struct {
	Certname  string             `json:"certname"`
	Files     puppetclient.Files `json:"files"`
	Names     []string           `json:"names"`     // see Probe.Names
	Requested []string           `json:"requested"` // see check.ExpirySettings.Names
	// Before is the certname that it said before this one: the master has that in its certificate until it restarts.
	Before string `json:"before"`
}

// Identity returns the identity in use; the zero value while there is a Doubt about it.
func (l *Loaded) Identity() Identity {
	if l.Doubt != nil {
		return Identity{}
	}
	return Identity{
		Certname:  l.Config.Probe.Certname,
		Files:     l.Config.Probe.Files,
		Names:     l.Config.Probe.Names,
		Requested: l.Config.Checks.Expiry().Names,
		Before:    l.before,
	}
}

// sources returns nil unless all values can be right: they are from a file.
func (i Identity) sources() sources {
	at := place{file: "what Puppet said last"}
	list := sources{
		"probe.certificate": {value: i.Files.Certificate, at: at},
		"probe.key":         {value: i.Files.Key, at: at},
		"probe.ca":          {value: i.Files.CA, at: at},
		"probe.crl":         {value: i.Files.CRL, at: at},
	}
	for _, path := range list {
		if !filepath.IsAbs(path.value) {
			return nil
		}
	}

	if !isPuppetCertname(i.Certname) {
		return nil
	}
	list[keyCertname] = source{value: i.Certname, at: at}
	return list
}

// accept takes another name by which the master may prove itself.
func (p *Probe) accept(name string) {
	if isPuppetCertname(name) && name != p.Certname && !slices.Contains(p.Names, name) {
		p.Names = append(slices.Clone(p.Names), name)
	}
}

// recall takes from what Puppet's configuration said once what derive takes.
func (l *loader) recall(said Identity) {
	if said.sources() == nil {
		return
	}
	l.config.Probe.Revocation = said.Files.Revocation
	l.config.Probe.Names = hostNames(said.Names)
	l.expectNames(hostNames(said.Requested))
}

// expectNames sets the names that the master's certificate should have.
func (l *loader) expectNames(names []string) {
	expiry := l.config.Checks.Expiry()
	expiry.Names = names
	l.config.Checks = l.config.Checks.With(expiry)
}

var hostName = regexp.MustCompile(`^[0-9a-z*_.-]{1,253}$`)

// hostNames returns the first hundred names that a host can have: the list is from a file.
func hostNames(list []string) (names []string) {
	for _, name := range list {
		if len(names) < 100 && hostName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
