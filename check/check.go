package check

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Check is one check: everything that is said of it, what can be set, and what
// makes it run. A check is made in one of three ways: on a schedule (Schedule),
// whenever a probe has ended (Observe), or by the caller, which hears of the unit
// from systemd (see [Unit]) or probes (see [Prober]).
type Check struct {
	Name     string   // in configuration, status and metrics
	Title    string   // what is checked, in a few words
	Severity Severity // what the check may do: in [All] by default, in a configuration as configured
	// Asks says what it asks, Why what would go unnoticed without it, Because why
	// the default severity is what it is, and Do what to do when it is not well.
	Asks, Why, Because, Do string
	Reasons                []Cause // those that no earlier check gives
	// Settings points to a struct with the defaults; nil if nothing can be set.
	// Each field has its key in the tag yaml, and may have rules:
	//
	//	min, max   the bounds of an int or a time.Duration
	//	required   a list must not be empty; the value says what to do instead
	//	path       absolute: the text, or each item, must be an absolute path; with
	//	           optional the text may be empty too
	//	target     text that is not empty must be host:port; the value is an example
	//
	Settings any
	// Schedule prepares the check to be made again and again, as Settings say. It
	// returns nil if they leave nothing to ask. Nil for other kinds of checks.
	Schedule func(Host) *Scheduled
	// Observe concludes from the result of a probe of the master. Nil for other
	// kinds of checks.
	Observe func(r Result, now time.Time) Finding
}

// Cause is a reason, and what there is to say of it.
type Cause struct {
	Reason Reason
	Side   Side   // of a fault; empty means SideServer
	Hint   string // what to do; empty where the detail beside it says it all
}

// Host is what probers and scheduled checks are told of the host that they run on.
type Host struct {
	Address     string // of the master, host:port
	Certname    string // of the host, and so of the master
	Environment string // Puppet's
	Credentials *puppetclient.Credentials
	Timeout     time.Duration // of a probe, and of any check that should be as quick
	Handshake   time.Duration // the longest that the probe keeps a connection
}

// longHandshake is how long a check keeps its connection. The probe, which
// handshakes often, is the one that watches the certificates.
const longHandshake = 10 * time.Minute

// Prober returns a new prober of the master; of one of its services unless that is
// empty.
func (h Host) Prober(service string) *Prober {
	return &Prober{Environment: h.Environment, Service: service, Client: puppetclient.Client{
		Address:     h.Address,
		ServerName:  h.Certname,
		Credentials: h.Credentials,
		Timeout:     h.Timeout,
		Handshake:   h.Handshake,
	}}
}

// client returns a new client for the master. Each check has its own, so that
// none waits for another.
func (h Host) client() *puppetclient.Client {
	h.Handshake = longHandshake
	return &h.Prober("").Client
}

// Scheduled is a check that is made again and again.
type Scheduled struct {
	// Check makes it once. It must not be called while it runs.
	Check func(context.Context) Finding
	// Interval is the pause between two runs, Timeout the longest that one may take.
	Interval, Timeout time.Duration
	// Client is what the check asks with, nil if it asks nothing. The caller must
	// close it in the end.
	Client *puppetclient.Client
	// Restarted, if not nil, must be called before the next Check once the master
	// may have been started anew.
	Restarted func()
	// Urgent tells that a wait ends with a finding of this check: for a master that
	// starts, or that finishes its last requests. It should then be made more often.
	Urgent bool
}

// List is a list of checks: [All], or a configuration, which is All with other
// severities and settings.
type List []Check

// All returns every check, the probe first, in the order in which they are shown.
// Each call makes new Settings, which the caller may change.
func All() List {
	return List{probe(), jruby(), unit(), expiry(), loaded(), disk(), code(), puppetdb(), compile()}
}

// Names returns the names of All.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Explain returns the check of All with that name, and whether there is one. Its
// String explains it.
func Explain(name string) (Check, bool) { return All().find(name) }

// Severity returns what the check of that name may do; Off if it is not in the
// list.
func (l List) Severity(name string) Severity {
	if c, ok := l.find(name); ok {
		return c.Severity
	}
	return Off
}

func (l List) find(name string) (Check, bool) {
	if i := slices.IndexFunc(l, func(c Check) bool { return c.Name == name }); i >= 0 {
		return l[i], true
	}
	return Check{}, false
}

// SetSeverity changes what the check of that name may do.
func (l List) SetSeverity(name string, s Severity) {
	for i := range l {
		if l[i].Name == name {
			l[i].Severity = s
		}
	}
}

// Settings returns the settings of type T in a list, as in
// Settings[JRubySettings](list). They are zero if no check of the list has them.
func Settings[T any](l List) *T {
	for _, c := range l {
		if s, ok := c.Settings.(*T); ok {
			return s
		}
	}
	return new(T)
}

// Optional reports whether the severity of the check can be set. The verdict rests
// on the probe, so it cannot be switched off.
func (c Check) Optional() bool { return c.Name != CheckProbe }

// String explains the check on a terminal, in lines of at most 78 bytes.
func (c Check) String() string {
	var b strings.Builder
	b.WriteString(c.Name + ": " + c.Title + "\n")
	paragraph(&b, "asks", c.Asks)
	paragraph(&b, "why", c.Why)
	paragraph(&b, "default", string(c.Severity)+": "+c.Because)
	paragraph(&b, "do", c.Do)
	return b.String()
}

// paragraph writes a text beside its head.
func paragraph(b *strings.Builder, head, text string) {
	const indent, width = 10, 78
	line := head + strings.Repeat(" ", indent-1-len(head))
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", indent-1)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
