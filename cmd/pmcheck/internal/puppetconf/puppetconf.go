// Package puppetconf finds out what Puppet's own configuration says of this host and its master: puppet.conf, read as
// Puppet reads it, Puppet's settings and their defaults, the directories of its packages, and the certificates in them.
// What cannot be read is named, and what was said last, or a package's default, stands in for it.
package puppetconf

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// Host is where Puppet's configuration is looked for, and what is known without it.
type Host struct {
	// Root is the directory in which all paths are looked up; empty means /.
	Root string
	// Conf is the absolute path of puppet.conf, which must exist then; empty means one of the known layouts.
	Conf string
	// Certname and Files are the identity as far as it is configured for pmcheck: Puppet's configuration is not asked
	// for it.
	Certname string
	Files    puppetclient.Files
	// Plain is set if TLS ends at the balancer, so that there is no master to verify.
	Plain bool
	// Known is what Puppet's configuration said last, in case it says less now. The zero value is nothing.
	Known Identity
}

// Said is what Puppet's configuration says, and what stands in for what it does not say.
type Said struct {
	// Identity is complete, with what is configured for pmcheck, unless there is a Doubt.
	Identity
	// From is where the values of Identity are from that are not configured for pmcheck, by Puppet's setting.
	From map[string]mistake.Place
	// Guessed is set if Certname and Files are not what Puppet's configuration says now.
	Guessed bool

	// ServerPort is the port for agents; empty if puppet.conf has none.
	ServerPort string
	// Environment is the environment of this host's agent; empty if puppet.conf has none whose name can be in a URL.
	Environment string
	// Vardir and Environments are directories of this packaging of Puppet, which is Layout as an origin. They are empty
	// if puppet.conf is in a directory of no known packaging.
	Vardir, Environments string
	Layout               mistake.Place

	// Doubt says what is wrong with Puppet's configuration, one mistake a line; nil if nothing is. Check is what the
	// check of the identity has to know of the doubt.
	Doubt error
	Check check.IdentitySettings

	seen *sight
}

// Changed reports whether the host has another name, or a file that was read has changed, since s was read. It may hang
// with the file system.
func (s *Said) Changed() bool { return s.seen.changed() }

// Read reads Puppet's configuration. It may hang with the file system. On a host without Puppet there is no Doubt if
// all of the identity is configured.
//
// What pmcheck cannot find out about its own host must not count against the master. So if puppet.conf does not say all
// of the identity, the probe takes the first of these that there is: what puppet.conf said last; the default paths, if
// the files there fit each other; as much as puppet.conf does say. With the last, the probe verifies less.
func Read(h Host) *Said {
	said := &Said{
		Identity: Identity{Certname: h.Certname, Files: h.Files},
		From:     map[string]mistake.Place{},
		seen:     newSight(h.Root),
	}
	found, isFound := layoutOf(h.Conf, said.seen)
	if !isFound && said.identified() {
		return said
	}

	r := &reading{host: h, layout: found, said: said}
	var says sources
	doubt := noPuppet()
	r.recall() // until puppet.conf says another
	if isFound {
		r.directories()
		says, doubt = r.readConf()
	}
	named := says["certname"].value

	certain := said.with(says).identified()
	instead := "the names and files are known all the same"
	if early := r.early(says); certain && early != nil {
		doubt = early
		certain = false
	}
	if !certain {
		says, instead = r.guess(says)
		said.Guessed = true
	}
	for _, setting := range said.fill(says) {
		said.From[setting] = says[setting].at
	}
	r.acceptNames(named)

	if doubt != nil {
		said.Doubt = doubt.Err
		said.Check = check.IdentitySettings{
			Doubt:      doubt.Reason,
			Detail:     strings.ReplaceAll(doubt.Err.Error(), "\n", "; ") + "; " + instead,
			Unverified: r.unverified(said.Identity),
		}
	}
	return said
}

// reading is one reading of Puppet's configuration.
type reading struct {
	host   Host
	layout layout
	said   *Said
}

// unverified reports whether it is not known what to verify the master with. There is nothing to verify without TLS.
func (r *reading) unverified(by Identity) bool {
	return !r.host.Plain && (by.Certname == "" || by.Files.CA == "")
}

// acceptNames takes the names that the certificate of this host's master may have while the host gets another
// certificate: the certname that puppet.conf has now, and the certname that it had before.
func (r *reading) acceptNames(now string) {
	known := r.host.Known
	if known.sources() == nil {
		return
	}

	r.said.Before = known.Before
	if known.Certname != r.said.Certname {
		r.said.Before = known.Certname
	}
	r.said.accept(r.said.Before)
	r.said.accept(now)
}

// recall takes from what Puppet's configuration said once what derive takes.
func (r *reading) recall() {
	known := r.host.Known
	if known.sources() == nil {
		return
	}
	r.said.Files.Revocation = known.Files.Revocation
	r.said.Names = hostNames(known.Names)
	r.said.Requested = hostNames(known.Requested)
}

// directories takes the directories that the checks look at from this packaging of Puppet. If puppet.conf is in another
// directory, nothing is assumed.
func (r *reading) directories() {
	if r.layout.codedir == "" {
		return
	}
	r.said.Layout = mistake.Place{File: r.layout.name}
	r.said.Vardir = r.layout.vardir
	r.said.Environments = filepath.Join(r.layout.codedir, "environments")
}

// readConf returns what puppet.conf says of the identity, and takes what can be set nowhere else. The doubt is
// nil if nothing is wrong with the file.
func (r *reading) readConf() (says sources, doubt *check.Fault) {
	conf, doubt := r.readFile()
	if doubt != nil {
		return nil, doubt
	}

	says, wrong := r.identity(conf)
	certname := cmp.Or(says["certname"].value, r.host.Certname)
	derived := r.derive(conf, certname)
	wrong = append(wrong, derived...)
	if len(wrong) == 0 {
		wrong = conf.cannotStart(puppetServer, r.layout, certname)
	}
	return says, doubtOf(wrong)
}

// doubtOf returns the doubt about a puppet.conf with these mistakes; nil if there are none.
func doubtOf(wrong []mistake.Mistake) *check.Fault {
	var distinct []mistake.Mistake // settings refer to each other
	for _, one := range wrong {
		if !slices.Contains(distinct, one) {
			distinct = append(distinct, one)
		}
	}
	if len(distinct) == 0 {
		return nil
	}

	reason := check.PuppetConfMistake
	if len(distinct) == 1 && distinct[0].Key == keyName {
		reason = check.CertnameNotKnown
	}
	return &check.Fault{Reason: reason, Err: mistake.Join(distinct)}
}

// readFile returns puppet.conf, which may be absent unless it is configured.
func (r *reading) readFile() (puppetConf, *check.Fault) {
	file := cmp.Or(r.host.Conf, r.layout.conf())
	data, err := r.said.seen.read(file)
	if err != nil && (r.host.Conf != "" || !errors.Is(err, fs.ErrNotExist)) {
		if cause, is := errors.AsType[*fs.PathError](err); is {
			err = bounded.Denied(cause.Err, r.said.seen.inRoot(file)) // the place has the path already
		}
		unreadable := mistake.Mistake{At: mistake.Place{File: file}, Problem: err.Error()}
		return puppetConf{}, &check.Fault{Reason: check.PuppetConfUnreadable, Err: unreadable}
	}

	conf, wrong := parse(file, data, r.layout.puppet3)
	return conf, doubtOf(wrong)
}

func noPuppet() *check.Fault {
	return &check.Fault{Reason: check.NoPuppet, Err: mistake.Mistake{
		Problem: "no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
			"(set puppet.conf, or probe.certname, certificate, key, ca and crl)",
	}}
}

// early returns the doubt about a puppet.conf that names another certname or other files than last, if the new identity
// cannot be used yet and the last identity can. A host that gets another name has the name first, then the certificate,
// and only after a restart a master that uses the certificate.
func (r *reading) early(says sources) *check.Fault {
	known := r.host.Known.sources()
	isNew := slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(key string) bool {
		return says[key].value != "" && says[key].value != known[key].value
	})
	if !isNew {
		return nil
	}

	unfit := r.fit(says)
	if unfit == nil || r.fit(known) != nil {
		return nil
	}
	at := says["hostcert"].at
	reason := check.CertificatePending
	if fault, is := errors.AsType[*puppetclient.Error](unfit); is && fault.Reason == puppetclient.OwnFiles {
		reason = puppetclient.OwnFiles // they may be fit, and Puppet Server may read them
	}
	return &check.Fault{Reason: reason, Err: mistake.Mistake{At: at, Problem: unfit.Error()}}
}

// fit returns nil if the files of this host, with what is not configured from these sources, can be used.
func (r *reading) fit(from sources) error {
	files := r.given().with(from).Files
	for _, path := range []string{files.Certificate, files.Key, files.CA} {
		r.said.seen.note(path)
	}
	return files.Fit(r.host.Root, time.Now())
}

// given returns the identity as far as it is configured for pmcheck.
func (r *reading) given() Identity {
	return Identity{Certname: r.host.Certname, Files: r.host.Files}
}

// guess returns what to use instead of what puppet.conf says, which is not enough, and describes it.
func (r *reading) guess(says sources) (instead sources, description string) {
	if last := r.host.Known.sources(); last != nil {
		return last, "pmcheck uses what it said last"
	}

	defaults, wrong := r.identity(puppetConf{})
	if len(wrong) == 0 && r.fit(defaults) == nil {
		return defaults, "pmcheck uses the default paths, where the files fit each other"
	}

	known := r.given().with(says)
	if r.unverified(known) {
		return says, "pmcheck does not verify the master, and answers 503 if it is on another host"
	}
	if known.Files.Certificate != "" && known.Files.Key != "" {
		return says, "pmcheck looks up no CRL"
	}
	return says, "pmcheck asks without a certificate"
}
