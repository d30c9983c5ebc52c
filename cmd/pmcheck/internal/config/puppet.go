package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// askPuppet fills in the settings that are empty and that Puppet's configuration has, and what is derived from that
// configuration and cannot be set.
//
// What pmcheck cannot find out about its own host must not count against the master. So if puppet.conf does not say all
// of the identity, the probe takes the first of these that there is: what puppet.conf said last; the default paths, if
// the files there fit each other; as much as puppet.conf does say. With the last, the probe verifies less.
func (l *loader) askPuppet() {
	layout, found := l.options.layout(l.config.Puppet.Conf)
	if !found && l.config.Probe.identified() {
		return
	}

	h := puppetHost{options: l.options, layout: layout, probe: l.config.Probe}
	var says sources
	doubt := noPuppet()
	l.recall(l.options.Known) // until puppet.conf says another
	if found {
		l.directories(layout)
		says, doubt = l.readPuppetConf(h)
	}
	named := says[keyCertname].value

	certain := h.probe.with(says).identified()
	instead := "the names and files are known all the same"
	if early := h.early(says); certain && early != nil {
		doubt = early
		certain = false
	}
	if !certain {
		says, instead = h.guess(says)
		l.config.Probe.Guessed = true
	}
	l.use(says)
	l.acceptNames(named)

	if doubt != nil {
		l.doubt = doubt.Err
		l.config.Checks = l.config.Checks.With(check.IdentitySettings{
			Doubt:      doubt.Reason,
			Detail:     strings.ReplaceAll(doubt.Err.Error(), "\n", "; ") + "; " + instead,
			Unverified: l.config.Probe.unverified(),
		})
	}
}

// acceptNames takes the names that the certificate of this host's master may have while the host gets another
// certificate: the certname that puppet.conf has now, and the certname that it had before.
func (l *loader) acceptNames(now string) {
	if l.options.Known.sources() == nil {
		return
	}
	l.before = l.options.Known.Before
	if known := l.options.Known.Certname; known != l.config.Probe.Certname {
		l.before = known
	}
	l.config.Probe.accept(l.before)
	l.config.Probe.accept(now)
}

func noPuppet() *check.Fault {
	return &check.Fault{Reason: check.NoPuppet, Err: Fault{
		problem: "no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
			"(set puppet.conf, or probe.certname, certificate, key, ca and crl)",
	}}
}

// readPuppetConf returns what puppet.conf says of the identity, and takes what can be set nowhere else. The doubt is
// nil if nothing is wrong with the file.
func (l *loader) readPuppetConf(h puppetHost) (says sources, doubt *check.Fault) {
	conf, doubt := h.read(l.config.Puppet.Conf)
	if doubt != nil {
		return nil, doubt
	}

	says, faults := h.identity(conf)
	certname := cmp.Or(says[keyCertname].value, h.probe.Certname)
	derived := l.derive(conf, h.layout, certname)
	faults = append(faults, derived...)
	if len(faults) == 0 {
		faults = conf.cannotStart(puppetServer, h.layout, certname)
	}
	return says, mistakes(faults)
}

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

// puppetHost is what pmcheck sees of Puppet on this host.
type puppetHost struct {
	options Options
	layout  layout
	probe   Probe // as pmcheck.yaml and the environment have it
}

// read returns puppet.conf, which may be absent unless it is configured.
func (h puppetHost) read(configured string) (puppetConf, *check.Fault) {
	file := cmp.Or(configured, h.layout.conf())
	h.options.note(file)
	data, err := h.options.read(file)
	if err != nil && (configured != "" || !errors.Is(err, fs.ErrNotExist)) {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = bounded.Denied(cause.Err, filepath.Join(h.options.Root, file)) // the place has the path already
		}
		unreadable := Fault{at: place{file: file}, problem: err.Error()}
		return puppetConf{}, &check.Fault{Reason: check.PuppetConfUnreadable, Err: unreadable}
	}

	conf, faults := parsePuppetConf(file, data, h.layout.puppet3)
	return conf, mistakes(faults)
}

// early returns the doubt about a puppet.conf that names another certname or other files than last, if the new identity
// cannot be used yet and the last identity can. A host that gets another name has the name first, then the certificate,
// and only after a restart a master that uses the certificate.
func (h puppetHost) early(says sources) *check.Fault {
	known := h.options.Known.sources()
	isNew := slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(key string) bool {
		return says[key].value != "" && says[key].value != known[key].value
	})
	if !isNew {
		return nil
	}

	unfit := h.fit(says)
	if unfit == nil || h.fit(known) != nil {
		return nil
	}
	at := says["probe.certificate"].at
	reason := check.CertificatePending
	if fault, is := errors.AsType[*puppetclient.Error](unfit); is && fault.Reason == puppetclient.OwnFiles {
		reason = puppetclient.OwnFiles // they may be fit, and Puppet Server may read them
	}
	return &check.Fault{Reason: reason, Err: Fault{at: at, problem: unfit.Error()}}
}

// fit returns nil if the files of this host, with what is not configured from these sources, can be used.
func (h puppetHost) fit(from sources) error {
	files := h.probe.with(from).Files
	for _, path := range []string{files.Certificate, files.Key, files.CA} {
		h.options.note(path)
	}
	return files.Fit(h.options.Root, time.Now())
}

// guess returns what to use instead of what puppet.conf says, which is not enough, and describes it.
func (h puppetHost) guess(says sources) (instead sources, description string) {
	if last := h.options.Known.sources(); last != nil {
		return last, "pmcheck uses what it said last"
	}

	defaults, faults := h.identity(puppetConf{})
	if len(faults) == 0 && h.fit(defaults) == nil {
		return defaults, "pmcheck uses the default paths, where the files fit each other"
	}

	known := h.probe.with(says)
	if known.unverified() {
		return says, "pmcheck does not verify the master, and answers 503 if it is on another host"
	}
	if known.Certificate != "" && known.Key != "" {
		return says, "pmcheck looks up no CRL"
	}
	return says, "pmcheck asks without a certificate"
}

// identity returns what a puppet.conf says of the identity. What pmcheck.yaml has is not asked for.
func (h puppetHost) identity(conf puppetConf) (says sources, faults []Fault) {
	says = sources{}
	server := conf.reader(puppetServer, h.layout, "")
	note := func(key string, value resolved, at place) {
		if *h.probe.identity()[key] != "" {
			return
		}
		if fault, is := errors.AsType[Fault](value.err); is {
			faults = append(faults, fault)
			return
		}
		says[key] = source{value: value.text, at: at}
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
		path := server.value(file.setting)
		at := place{file: h.layout.name}
		if path.line > 0 {
			at = place{file: conf.file, line: path.line}
		}
		note(file.key, path, at)
	}
	return says, faults
}

// certname returns the name of this host. The name in probe.certname is the master's, and moves no files.
//
// Puppet takes the fully qualified name that facter finds, perhaps in the DNS. A check must not depend on that, so
// without a certname in puppet.conf the certificates on disk decide.
func (h puppetHost) certname(server *reader) (name resolved, at place) {
	if _, written := server.line("certname"); written {
		name = server.value("certname")
		return name, place{file: server.conf.file, line: name.line}
	}

	certdir := server.value("certdir")
	if certdir.err != nil {
		return certdir, place{}
	}
	if found := h.certified(certdir.text); isPuppetCertname(found) {
		return resolved{text: found}, place{file: "certificate in " + certdir.text}
	}
	return resolved{err: noCertname(server.conf)}, place{}
}

// noCertname is the fault of a puppet.conf without a certname, if no certificate must be this host's.
func noCertname(conf puppetConf) Fault {
	hint := "run puppet agent, or set probe.certname"
	if _, written := conf.sections["agent"]["certname"]; written {
		hint = "Puppet Server does not look into [agent]: move it to [main]"
	}
	why := wrong("no certname for Puppet Server in it, and not one certificate that must be this host's", hint)
	return Fault{at: place{file: conf.file}, key: keyCertname, problem: why.Error()}
}

// certified returns the name of a certificate in certdir besides the CA's: the certificate of probe.certname, of this
// host with its domain or without, or the only certificate; "" if there is none of these.
func (h puppetHost) certified(certdir string) string {
	h.options.note(certdir)
	host, _ := os.Hostname()
	host = strings.ToLower(host)

	for _, pattern := range []string{h.probe.Certname, host + ".*", host, "*"} {
		files, _ := filepath.Glob(filepath.Join(h.options.Root, certdir, pattern+".pem"))
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

// derive takes what cannot be set in pmcheck.yaml: how deep certificates are looked up in the CRL, the port, and the
// names that agents use for this master.
func (l *loader) derive(conf puppetConf, on layout, certname string) (faults []Fault) {
	server := conf.reader(puppetServer, on, certname)
	agent := conf.reader(puppetAgent, on, certname)
	value := func(r *reader, setting string) resolved {
		v := r.value(setting)
		if fault, is := errors.AsType[Fault](v.err); is {
			faults = append(faults, fault)
		}
		return v
	}

	if depth := value(server, "certificate_revocation"); depth.err == nil {
		l.config.Probe.Revocation = puppetclient.Revocation(depth.text)
	}
	if port := value(server, "serverport"); port.line > 0 {
		l.config.Probe.ServerPort = port.text
	}

	// Agents use this environment, so the master has it, even if it has no production.
	if environment := agent.value("environment"); environmentName.MatchString(environment.text) {
		l.config.Probe.Environment = environment.text
	}

	requested := altNames(value(agent, "dns_alt_names").text)
	own := altNames(value(server, "dns_alt_names").text)
	used := value(agent, "server")
	ca := value(agent, "ca_server")
	if len(faults) > 0 && len(l.config.Probe.Names) > 0 {
		return faults // a name may be missing here, so the names that puppet.conf said last stand
	}

	// On all masters but the CA it is the agent that requests the certificate, so these must be in it.
	inCertificate := slices.Clone(requested)
	name := strings.ToLower(used.text)
	if isPool(used, ca) && !slices.Contains(requested, name) {
		inCertificate = append(inCertificate, name)
	}
	l.expectNames(inCertificate)

	// Each of these may be what agents verify the master by.
	l.config.Probe.Names = requested
	for _, other := range append(own, name) {
		if other != "" && !slices.Contains(l.config.Probe.Names, other) {
			l.config.Probe.Names = append(l.config.Probe.Names, other)
		}
	}
	return faults
}

var environmentName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// isPool reports whether the server of agents is the name of a pool: with a ca_server of its own, it is not there to
// reach the CA.
func isPool(server, ca resolved) bool {
	bothWritten := server.line > 0 && ca.line > 0
	bothKnown := server.text != "" && ca.text != ""
	return bothWritten && bothKnown && !strings.EqualFold(server.text, ca.text)
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
