// Package check finds out whether a Puppet Server is fit to serve agents.
//
// A [Prober] sends one request to one master over mutual TLS and returns a [Result]. A [Judge]
// makes a [Verdict] of the results of successive probes, which expires unless it is renewed.
// Puppet Server reports that it is running while it cannot serve: with one JRuby of eight started,
// with all of them stuck, with a full disk. [All] lists the probe and the checks that find this
// out; [Fold] combines the verdict on the probes with the [Finding] of each.
//
// # Why the probe behaves like an agent
//
// Puppet Server's trust in its agents is part of its health: with an expired
// revocation list it refuses every agent in the TLS handshake, yet it answers an
// anonymous client that it is running. So a probe offers the host's own certificate,
// unless its files show that the master would refuse it. It verifies the master as an
// agent would, and makes a whole request, since TLS 1.3 reports a refused client
// certificate only then. Package puppetclient implements this.
//
// Agents accept certificates with a negative serial number. Go parses them only if the main package of the program has
// the line
//
//	//go:debug x509negativeserial=1
package check

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Check is one check, with everything that the rest of the program knows of it: a new check is a function that
// returns one, and a line in [All].
//
// A check with Run runs on a schedule, and one with Observe looks at the result of each probe. The checks probe and
// unit have neither: their caller probes the master (see [Prober]), and gets the unit's state from systemd (see
// [Unit]).
type Check struct {
	Name     string   // in configuration, status and metrics
	Severity Severity // what the check may do: the default in [All], else as configured
	// Shared is set if the check is of what masters share, or of pmcheck itself: to eject for
	// that would take all of them out in the same minute.
	Shared  bool
	Reasons []Cause
	Needs   Needs

	// Settings is a struct with the settings of the check, which has the defaults; nil if the check has none.
	// They are a section of the configuration that is named like the check. Each field has its key in the tag yaml,
	// which is "-" if the field is derived from other settings. Other tags may restrict its value:
	//
	//	min, max  the bounds of an int or a time.Duration
	//	path      text that is not empty, or each item, must be an absolute path
	Settings any

	// Run makes the check ready to run on a host, with its Settings. It returns nil if the settings name nothing to
	// look at. See Run for settings with a type.
	Run      func(settings any, h Host) Runner
	Interval time.Duration // the pause between two runs
	Timeout  time.Duration // the longest that a run may take

	// Observe makes the check ready to look at the results of the probes of a master, with its Settings. The check
	// goes on from what it has seen of the master before, for example with other settings. See Observe for settings
	// with a type.
	Observe func(settings any, seen *Seen) Observer
}

// Needs is what a check needs of the sandbox in which a daemon runs, besides what every program in Go does and the
// files that its settings or Puppet's name. What the sandbox denies, the check cannot find out.
type Needs struct {
	Calls    []string // system calls, by their names in the kernel
	Families []string // of sockets, such as AF_INET
	Paths    []string // that it reads
}

// Run returns the Run of a check whose Settings are a T.
func Run[T any](ready func(settings T, h Host) Runner) func(any, Host) Runner {
	return func(settings any, h Host) Runner { return ready(settings.(T), h) }
}

// Observe returns the Observe of a check whose Settings are a T.
func Observe[T any](ready func(settings T, seen *Seen) Observer) func(any, *Seen) Observer {
	return func(settings any, seen *Seen) Observer { return ready(settings.(T), seen) }
}

// Host is what checks need to know of the host that they run on.
type Host struct {
	Certname    string // the name in the host's certificate
	Credentials *puppetclient.Credentials
}

// Runner runs a check once and returns the finding; a zero Finding is none. It must not be called again before it has
// returned.
type Runner func(context.Context) Finding

// Observer returns the finding for the result of a probe; a zero one changes nothing. It may remember
// results, so each must be observed once, in order.
type Observer func(r Result, now time.Time) Finding

// Seen is what checks remember of one master. The zero value remembers nothing.
type Seen struct {
	pool seenPool // of the check jruby
}

// List is a list of checks: [All], or a configuration, which is All with other severities and settings. Treat it as
// immutable: [List.With] and [List.WithSeverity] return another one. The methods that are named like a check return
// its settings; the zero value if the list lacks the check.
type List []Check

// All returns every check, the probe first, in the order in which they are shown.
func All() List {
	return List{
		probe(),
		jruby(),
		unit(),
		identity(),
		expiry(),
		disk(),
		code(),
		puppetdb(),
	}
}

// Severity returns what the check of that name may do; Off if it is not in the
// list.
func (l List) Severity(name string) Severity {
	for _, c := range l {
		if c.Name == name {
			return c.Severity
		}
	}
	return Off
}

// Scheduled is a check that is ready to run repeatedly. Its fields are described in [Check].
type Scheduled struct {
	Run      Runner
	Interval time.Duration
	Timeout  time.Duration
}

// Scheduled returns the checks that run repeatedly on a host, by name. A check that has nothing to look at is left
// out.
func (l List) Scheduled(h Host) map[string]*Scheduled {
	list := map[string]*Scheduled{}
	for _, c := range l {
		if c.Run == nil {
			continue
		}
		if run := c.Run(c.Settings, h); run != nil {
			list[c.Name] = &Scheduled{Run: run, Interval: c.Interval, Timeout: c.Timeout}
		}
	}
	return list
}

// Observers returns the checks that look at the results of the probes of a master, by name. They record in seen what
// they remember of it.
func (l List) Observers(seen *Seen) map[string]Observer {
	list := map[string]Observer{}
	for _, c := range l {
		if c.Observe != nil {
			list[c.Name] = c.Observe(c.Settings, seen)
		}
	}
	return list
}

// With returns l with other settings of the check whose Settings are of the same type.
func (l List) With(settings any) List {
	changed := slices.Clone(l)
	for i := range changed {
		if reflect.TypeOf(changed[i].Settings) == reflect.TypeOf(settings) {
			changed[i].Settings = settings
		}
	}
	return changed
}

// WithSeverity returns l with another severity of the check of that name.
func (l List) WithSeverity(name string, s Severity) List {
	changed := slices.Clone(l)
	for i := range changed {
		if changed[i].Name == name {
			changed[i].Severity = s
		}
	}
	return changed
}

// settingsOf returns the settings of a type; the zero value if no check in the list has them.
func settingsOf[T any](l List) (settings T) {
	for _, c := range l {
		if s, are := c.Settings.(T); are {
			return s
		}
	}
	return settings
}
