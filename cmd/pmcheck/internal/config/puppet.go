package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// askPuppet fills in the settings that are empty and that Puppet's configuration has, and what is derived from that
// configuration and cannot be set.
//
// What pmcheck cannot find out about its own host must not count against the master. So if puppet.conf does not say all
// of the identity, the probe takes the first of these that there is: what puppet.conf said last; the default paths, if
// the files there fit each other; as much as puppet.conf does say. With the last, the probe verifies less.
func (l *Loaded) askPuppet() {
	layout, found := l.options.layout(l.Config.Puppet.Conf)
	if !found && l.Config.Probe.identified() {
		return
	}
	h := puppetHost{l.options, layout, l.Config.Probe}
	says, doubt := sources(nil), noPuppet()
	l.recall(l.options.Known) // until puppet.conf says another
	if found {
		l.directories(layout)
		says, doubt = l.readPuppetConf(h)
	}

	certain := h.probe.with(says).identified()
	instead := "the names and files are known all the same"
	if !certain {
		says, instead = h.guess(says)
		l.Config.Probe.Guessed = true
	}
	l.use(says)

	if doubt != nil {
		l.Doubt = doubt.Err
		*l.Config.Checks.Identity() = check.IdentitySettings{
			Doubt:      doubt.Reason,
			Detail:     oneLine(doubt.Err) + "; " + instead,
			Unverified: l.Config.Probe.unverified(),
		}
	}
}

func noPuppet() *check.Fault {
	return &check.Fault{Reason: check.NoPuppet, Err: Fault{
		problem: "no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
			"(set puppet.conf, or probe.certname, certificate, key, ca and crl)",
	}}
}

// readPuppetConf returns what puppet.conf says of the identity, and takes what can be set nowhere else. The doubt is
// nil if nothing is wrong with the file.
func (l *Loaded) readPuppetConf(h puppetHost) (says sources, doubt *check.Fault) {
	conf, doubt := h.read(l.Config.Puppet.Conf)
	if doubt != nil {
		return nil, doubt
	}
	says, faults := h.identity(conf)
	faults = append(faults, l.derive(conf, h.layout.puppetDefaults(), says[keyCertname].value)...)
	if len(faults) == 0 {
		faults = conf.cannotStart(puppetServer, h.layout.puppetDefaults())
	}
	return says, mistakes(faults)
}

// oneLine returns the text of joined errors in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// mistakes returns the doubt about a puppet.conf with these mistakes; nil if there are none.
func mistakes(faults []Fault) *check.Fault {
	var distinct []Fault // settings refer to each other
	for _, fault := range faults {
		if !slices.Contains(distinct, fault) {
			distinct = append(distinct, fault)
		}
	}
	if len(distinct) == 0 {
		return nil
	}
	reason := check.PuppetConfMistake
	if len(distinct) == 1 && distinct[0].key == keyCertname {
		reason = check.CertnameNotKnown
	}
	return &check.Fault{Reason: reason, Err: join(distinct)}
}

// sources are what is known of the identity of this host and its master, and from where: the master's name, and the
// files by which the two prove themselves to each other. The keys are those of pmcheck.yaml.
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
	return (p.Certname == "" || p.CA == "") && !strings.HasPrefix(p.Address, "http://")
}

// fill sets what is empty from these sources, and returns the keys of that.
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
func (l *Loaded) use(from sources) {
	for _, key := range l.Config.Probe.fill(from) {
		l.places[key] = from[key].at
	}
}

// Identity is what Puppet's configuration said once, to be saved. The zero value says nothing.
type Identity struct {
	Certname  string             `json:"certname"`
	Files     puppetclient.Files `json:"files"`
	Names     []string           `json:"names"`     // see Probe.Names
	Requested []string           `json:"requested"` // see check.ExpirySettings.Names
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
	}
}

// sources returns nil unless all values can be right: they are from a file.
func (i Identity) sources() sources {
	at := place{"what Puppet said last", 0}
	list := sources{
		"probe.certificate": {i.Files.Certificate, at},
		"probe.key":         {i.Files.Key, at},
		"probe.ca":          {i.Files.CA, at},
		"probe.crl":         {i.Files.CRL, at},
	}
	for _, path := range list {
		if !filepath.IsAbs(path.value) {
			return nil
		}
	}
	if !isPuppetCertname(i.Certname) {
		return nil
	}
	list[keyCertname] = source{i.Certname, at}
	return list
}

// recall takes from what Puppet's configuration said once what derive takes.
func (l *Loaded) recall(said Identity) {
	if said.sources() == nil {
		return
	}
	l.Config.Probe.Revocation = said.Files.Revocation
	l.Config.Probe.Names = hostNames(said.Names)
	l.Config.Checks.Expiry().Names = hostNames(said.Requested)
}

// hostNames returns a hundred names at most, without those that no host has: they are from a file.
func hostNames(list []string) (names []string) {
	for _, name := range list {
		if len(names) < 100 && matches(`^[0-9a-z*_.-]{1,253}$`, name) {
			names = append(names, name)
		}
	}
	return names
}

// puppetHost is what pmcheck sees of Puppet on this host.
type puppetHost struct {
	options Options
	layout  layout
	probe   Probe // as pmcheck.yaml and the environment have it
}

// read returns puppet.conf, which may be absent unless it is configured.
func (h puppetHost) read(configured string) (puppetConf, *check.Fault) {
	file := cmp.Or(configured, h.layout.conf())
	data, err := h.options.read(file)
	if err != nil && (configured != "" || !errors.Is(err, fs.ErrNotExist)) {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = cause.Err // the place has the path already
		}
		unreadable := Fault{at: place{file, 0}, problem: err.Error()}
		return puppetConf{}, &check.Fault{Reason: check.PuppetConfUnreadable, Err: unreadable}
	}
	conf, faults := parsePuppetConf(file, data, h.layout.puppet3)
	return conf, mistakes(faults)
}

// guess returns what to use instead of what puppet.conf says, which is not enough, and describes it.
func (h puppetHost) guess(says sources) (instead sources, description string) {
	if known := h.options.Known.sources(); known != nil {
		return known, "pmcheck uses what it said last"
	}
	defaults, faults := h.identity(puppetConf{})
	if probe := h.probe.with(defaults); len(faults) == 0 && probe.Files.Fit(h.options.Root, time.Now()) == nil {
		return defaults, "pmcheck uses the default paths, where the files fit each other"
	}
	if h.probe.with(says).unverified() {
		return says, "pmcheck does not verify the master, and answers 503 if it is on another host"
	}
	return says, "pmcheck asks without a certificate"
}

// identity returns what a puppet.conf says of the identity. What pmcheck.yaml has is not asked for.
func (h puppetHost) identity(conf puppetConf) (says sources, faults []Fault) {
	says = sources{}
	server := conf.reader(puppetServer, h.layout.puppetDefaults())
	note := func(key string, value resolved, at place) {
		fault, isFault := errors.AsType[Fault](value.err)
		switch {
		case *h.probe.identity()[key] != "":
		case !isFault:
			says[key] = source{value.text, at}
		default:
			faults = append(faults, fault)
		}
	}

	certname, at := h.certname(server)
	note(keyCertname, certname, at)
	if certname.err != nil && h.probe.Certname != "" {
		certname = resolved{text: h.probe.Certname}
	}
	server.read["certname"] = certname

	for _, file := range []struct{ key, setting string }{
		{"probe.certificate", "hostcert"},
		{"probe.key", "hostprivkey"},
		{"probe.ca", "localcacert"},
		{"probe.crl", "hostcrl"},
	} {
		path, at := server.value(file.setting), place{h.layout.name, 0}
		if path.line > 0 {
			at = place{conf.file, path.line}
		}
		note(file.key, path, at)
	}
	return says, faults
}

// certname returns the name of this host. The name in probe.certname is that of the master, and moves no files.
//
// Puppet takes the fully qualified name that facter finds, perhaps in the DNS. A check must not depend on that, so
// without a certname in puppet.conf the certificates on disk decide.
func (h puppetHost) certname(server *reader) (name resolved, at place) {
	if _, written := server.lookup("certname"); written {
		name = server.value("certname")
		return name, place{server.file, name.line}
	}
	certdir := server.value("certdir")
	if certdir.err != nil {
		return certdir, place{}
	}
	if found := h.certified(certdir.text); isPuppetCertname(found) {
		return resolved{text: found}, place{"certificate in " + certdir.text, 0}
	}
	return resolved{err: noCertname(server.puppetConf)}, place{}
}

// noCertname is the fault of a puppet.conf without a certname, if no certificate must be this host's.
func noCertname(conf puppetConf) Fault {
	hint := "run puppet agent, or set probe.certname"
	if _, written := conf.sections["agent"]["certname"]; written {
		hint = "Puppet Server does not look into [agent]: move it to [main]"
	}
	why := wrong("no certname for Puppet Server in it, and not one certificate that must be this host's", hint)
	return Fault{place{conf.file, 0}, keyCertname, why.Error()}
}

// certified returns the name of a certificate in certdir besides the CA's: that of probe.certname, of this host with
// its domain or without, or the only one; "" if there is none of these.
func (h puppetHost) certified(certdir string) string {
	host, _ := os.Hostname()
	host = strings.ToLower(host)
	for _, pattern := range []string{h.probe.Certname, host + ".*", host, "*"} {
		files, _ := filepath.Glob(filepath.Join(h.options.Root, certdir, pattern+".pem"))
		files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "ca.pem" })
		if len(files) == 1 {
			return strings.TrimSuffix(filepath.Base(files[0]), ".pem")
		}
	}
	return ""
}

// derive takes what cannot be set in pmcheck.yaml: how deep certificates are looked up in the CRL, the port, and the
// names that agents use for this master.
func (l *Loaded) derive(conf puppetConf, defaults map[string]string, certname string) (faults []Fault) {
	defaults["certname"] = cmp.Or(certname, l.Config.Probe.Certname)
	server, agent := conf.reader(puppetServer, defaults), conf.reader(puppetAgent, defaults)
	value := func(r *reader, setting string) resolved {
		v := r.value(setting)
		if fault, is := errors.AsType[Fault](v.err); is {
			faults = append(faults, fault)
		}
		return v
	}

	if depth := value(server, "certificate_revocation"); depth.err == nil {
		l.Config.Probe.Revocation = puppetclient.Revocation(depth.text)
	}
	if port := value(server, "serverport"); port.line > 0 {
		l.Config.Probe.ServerPort = port.text
	}

	requested := altNames(value(agent, "dns_alt_names").text)
	own := altNames(value(server, "dns_alt_names").text)
	pool, ca := value(agent, "server"), value(agent, "ca_server")
	if len(faults) > 0 && len(l.Config.Probe.Names) > 0 {
		return faults // a name may be missing here: those that puppet.conf said last stand
	}

	// On all masters but the CA it is the agent that requests the certificate, so these must be in it.
	l.Config.Checks.Expiry().Names = slices.Clone(requested)

	// With a ca_server of its own, server is not there to reach the CA: it is the name of the pool.
	name, bothWritten := strings.ToLower(pool.text), pool.line > 0 && ca.line > 0
	isPool := bothWritten && name != "" && ca.text != "" && name != strings.ToLower(ca.text)
	if isPool && !slices.Contains(requested, name) {
		l.Config.Checks.Expiry().Names = append(l.Config.Checks.Expiry().Names, name)
	}

	// Each of these may be what agents verify the master by.
	l.Config.Probe.Names = requested
	for _, other := range append(own, name) {
		if other != "" && !slices.Contains(l.Config.Probe.Names, other) {
			l.Config.Probe.Names = append(l.Config.Probe.Names, other)
		}
	}
	return faults
}

// altNames returns the names in dns_alt_names, without addresses, which have "IP:" before them.
func altNames(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "DNS:")
		if name != "" && !strings.Contains(name, ":") {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// directories sets those that the checks look at to those of this packaging of Puppet, unless they are
// configured. If puppet.conf is in another directory, nothing is assumed.
func (l *Loaded) directories(found layout) {
	if found.codedir == "" {
		return
	}
	at := place{found.name, 0}
	disk, code := l.Config.Checks.Disk(), l.Config.Checks.Code()
	if len(disk.Paths) == 0 {
		disk.Paths, l.places["disk.paths"] = []string{found.vardir}, at
	}
	if code.Dir == "" {
		code.Dir, l.places["code.dir"] = filepath.Join(found.codedir, "environments"), at
	}
}

type layout struct {
	name    string // as an origin
	confdir string
	ssldir  string
	vardir  string
	codedir string // of the code of the environments; empty if that is not known
	puppet3 bool   // puppet.conf may have what later versions refuse
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
	}
	old := layout{
		name:    "Puppet 3 layout",
		confdir: "/etc/puppet",
		ssldir:  "/var/lib/puppet/ssl",
		vardir:  "/var/lib/puppet",
		puppet3: true,
	}
	if o.exists("/etc/puppet/puppetserver") {
		old.name, old.vardir = "Debian layout", "/var/lib/puppetserver"
		old.codedir, old.puppet3 = "/etc/puppet/code", false
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
