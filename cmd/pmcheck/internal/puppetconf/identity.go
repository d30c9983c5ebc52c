package puppetconf

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// sources are what is known of the identity of this host and its master, and from where: the master's name, and the
// files by which the two prove themselves to each other. The keys are settings of Puppet.
type sources map[string]source

type source struct {
	value string
	at    mistake.Place
}

// Identity is who this host and its master are, by Puppet's configuration, and can be saved. The zero value says
// nothing.
type Identity struct {
	// Certname is the master's name.
	Certname string             `json:"certname"`
	Files    puppetclient.Files `json:"files"`
	// Names are other names of the master that agents use.
	Names []string `json:"names"`
	// Requested are the names that the master's certificate should have, for which it was requested.
	Requested []string `json:"requested"`
	// Before is the certname that it said before this one: the master has that in its certificate until it restarts.
	Before string `json:"before"`
}

// settings returns the name and the files, by Puppet's settings.
func (i *Identity) settings() map[string]*string {
	return map[string]*string{
		"certname":    &i.Certname,
		"hostcert":    &i.Files.Certificate,
		"hostprivkey": &i.Files.Key,
		"localcacert": &i.Files.CA,
		"hostcrl":     &i.Files.CRL,
	}
}

// identified reports whether the name and all files are known.
func (i Identity) identified() bool {
	for _, value := range i.settings() {
		if *value == "" {
			return false
		}
	}
	return true
}

// fill sets what is empty from these sources, and returns the settings that it has set.
func (i *Identity) fill(from sources) (filled []string) {
	for setting, value := range i.settings() {
		if *value == "" && from[setting].value != "" {
			*value = from[setting].value
			filled = append(filled, setting)
		}
	}
	return filled
}

// with returns i with what is empty set from these sources.
func (i Identity) with(from sources) Identity {
	i.fill(from)
	return i
}

// accept takes another name by which the master may prove itself.
func (i *Identity) accept(name string) {
	if IsCertname(name) && name != i.Certname && !slices.Contains(i.Names, name) {
		i.Names = append(slices.Clone(i.Names), name)
	}
}

// sources returns nil unless all values can be right: they are from a file.
func (i Identity) sources() sources {
	at := mistake.Place{File: "what Puppet said last"}
	list := sources{}
	for setting, value := range i.settings() {
		list[setting] = source{value: *value, at: at}
		if setting != "certname" && !filepath.IsAbs(*value) {
			return nil
		}
	}
	if !IsCertname(i.Certname) {
		return nil
	}
	return list
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

// identity returns what a puppet.conf says of the identity. What is configured for pmcheck is not asked for.
func (r *reading) identity(conf puppetConf) (says sources, wrong []mistake.Mistake) {
	says = sources{}
	server := conf.reader(puppetServer, r.layout, "")
	given := r.given()
	note := func(setting string, value resolved, at mistake.Place) {
		if *given.settings()[setting] != "" {
			return
		}
		if one, is := errors.AsType[mistake.Mistake](value.err); is {
			wrong = append(wrong, one)
			return
		}
		says[setting] = source{value: value.text, at: at}
	}

	certname, at := r.certname(server)
	note("certname", certname, at)
	if certname.err != nil && r.host.Certname != "" {
		certname = resolved{text: r.host.Certname}
	}
	server.read["certname"] = certname

	for _, setting := range []string{"hostcert", "hostprivkey", "localcacert", "hostcrl"} {
		path := server.value(setting)
		at := mistake.Place{File: r.layout.name}
		if path.line > 0 {
			at = mistake.Place{File: conf.file, Line: path.line}
		}
		note(setting, path, at)
	}
	return says, wrong
}

// keyName is the key of a mistake that is no setting's: the master's name is not to be found. It is the setting of
// pmcheck that ends it.
const keyName = "probe.certname"

// certname returns the name of this host. The name in probe.certname is the master's, and moves no files.
//
// Puppet takes the fully qualified name that facter finds, perhaps in the DNS. A check must not depend on that, so
// without a certname in puppet.conf the certificates on disk decide.
func (r *reading) certname(server *reader) (name resolved, at mistake.Place) {
	if _, written := server.line("certname"); written {
		name = server.value("certname")
		return name, mistake.Place{File: server.conf.file, Line: name.line}
	}

	certdir := server.value("certdir")
	if certdir.err != nil {
		return certdir, mistake.Place{}
	}
	if found := r.certified(certdir.text); IsCertname(found) {
		return resolved{text: found}, mistake.Place{File: "certificate in " + certdir.text}
	}
	return resolved{err: noCertname(server.conf)}, mistake.Place{}
}

// noCertname is the mistake of a puppet.conf without a certname, if no certificate must be this host's.
func noCertname(conf puppetConf) mistake.Mistake {
	hint := "run puppet agent, or set probe.certname"
	if _, written := conf.sections["agent"]["certname"]; written {
		hint = "Puppet Server does not look into [agent]: move it to [main]"
	}
	why := mistake.Problem("no certname for Puppet Server in it, and not one certificate that must be this host's", hint)
	return mistake.Mistake{At: mistake.Place{File: conf.file}, Key: keyName, Problem: why.Error()}
}

// certified returns the name of a certificate in certdir besides the CA's: the certificate of probe.certname, of this
// host with its domain or without, or the only certificate; "" if there is none of these.
func (r *reading) certified(certdir string) string {
	r.said.seen.note(certdir)
	host, _ := os.Hostname()
	host = strings.ToLower(host)

	for _, pattern := range []string{r.host.Certname, host + ".*", host, "*"} {
		files, _ := filepath.Glob(r.said.seen.inRoot(filepath.Join(certdir, pattern+".pem")))
		var names []string
		for _, file := range files {
			if name := strings.TrimSuffix(filepath.Base(file), ".pem"); name != "ca" {
				names = append(names, name)
			}
		}
		if len(names) == 1 {
			return names[0]
		}
	}
	return ""
}
