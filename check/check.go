package check

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Check is one check: its reasons, its settings, and the function that runs it. A
// check runs in one of three ways: on a schedule (Schedule), after each probe
// (Observe), or in the caller, which gets the unit's state from systemd (see [Unit])
// or probes the master (see [Prober]).
type Check struct {
	Name     string   // in configuration, status and metrics
	Severity Severity // what the check may do: the default in [All], else as configured
	// Shared is set if the check is of what masters share, or of pmcheck itself: to eject for
	// that would take all of them out in the same minute.
	Shared  bool
	Reasons []Cause
	// Settings points to a struct with the defaults; nil if nothing can be set.
	// Each field has its key in the tag yaml. Other tags may restrict its value:
	//
	//	min, max   the bounds of an int or a time.Duration
	//	required   a list must not be empty; the tag says what to do instead
	//	path       text that is not empty, or each item, must be an absolute path
	//	target     text that is not empty must be host:port; the tag is an example
	//
	Settings any
	// Schedule prepares the check to run repeatedly, according to Settings. It
	// returns nil if they leave nothing to check. It is nil for other kinds of checks.
	Schedule func(Host) *Scheduled
	// Observe prepares the check to look at the results of the probes of the master, according
	// to Settings. It is nil for other kinds of checks.
	Observe func() Observer
}

// Observer returns the finding for the result of a probe; a zero one changes nothing. It may remember
// results, so each must be observed once, in order.
type Observer func(r Result, now time.Time) Finding

// Host describes the host to its scheduled checks.
type Host struct {
	Certname    string // in the host's certificate
	Credentials *puppetclient.Credentials
	Timeout     time.Duration // of a probe, and of any check that should be as quick
}

// Scheduled is a check that runs repeatedly.
type Scheduled struct {
	// Check runs the check once; a zero Finding is none. It must not be called again before it has returned.
	Check func(context.Context) Finding
	// Interval is the pause between two runs, Timeout the longest that one may take.
	Interval, Timeout time.Duration
}

// List is a list of checks: [All], or a configuration, which is All with other
// severities and settings.
type List []Check

// All returns every check, the probe first, in the order in which they are shown.
// Each call returns new Settings, which the caller may change.
func All() List {
	return List{probe(), jruby(), unit(), expiry(), disk(), code(), puppetdb()}
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
