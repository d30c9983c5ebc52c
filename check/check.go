// Package check finds out whether a Puppet Server is fit to serve agents.
//
// A [Prober] sends one request to one master over mutual TLS and returns a [Result]. A [Judge]
// turns the results of successive probes into a [Verdict], which expires unless it is renewed.
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
package check

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Check is one check and its reasons. A check runs in one of three ways: on a schedule (see
// [Settings.Scheduled]), after each probe (see [Settings.Observers]), or in the caller, which gets the
// unit's state from systemd (see [Unit]) or probes the master (see [Prober]).
type Check struct {
	Name     string   // in configuration, status and metrics
	Severity Severity // what the check may do: the default in [All], else as configured
	// Shared is set if the check is of what masters share, or of pmcheck itself: to eject for
	// that would take all of them out in the same minute.
	Shared  bool
	Reasons []Cause
}

// Settings are the settings of the checks; begin with [Defaults].
// Each field has its key in the tag yaml. Other tags may restrict its value:
//
//	min, max  the bounds of an int or a time.Duration
//	path      text that is not empty, or each item, must be an absolute path
type Settings struct {
	JRuby    JRubySettings    `yaml:"jruby"`
	Unit     UnitSettings     `yaml:"unit"`
	Expiry   ExpirySettings   `yaml:"expiry"`
	Disk     DiskSettings     `yaml:"disk"`
	Code     CodeSettings     `yaml:"code"`
	PuppetDB PuppetDBSettings `yaml:"puppetdb"`
	Identity IdentitySettings `yaml:"-"`
}

// Defaults returns the default settings.
func Defaults() Settings {
	return Settings{
		JRuby:  JRubySettings{WarmingMax: 5 * time.Minute, StuckAfter: 2 * time.Minute},
		Unit:   UnitSettings{Names: []string{"puppetserver.service", "pe-puppetserver.service", "puppet-master.service"}},
		Expiry: ExpirySettings{Warn: 30 * 24 * time.Hour},
		Disk:   DiskSettings{Paths: []string{}, WarnPercent: 10, EjectMiB: 64},
	}
}

// Observer returns the finding for the result of a probe; a zero one changes nothing. It may remember
// results, so each must be observed once, in order.
type Observer func(r Result, now time.Time) Finding

// Seen is what observers remember of one master. The zero value is that of a master that is not known yet.
type Seen struct{ pool poolMemory }

// Observers returns the checks that look at the results of the probes, by name. They go on from what other observers
// have seen, for example with other settings, and record what they see there.
func (s Settings) Observers(seen *Seen) map[string]Observer {
	return map[string]Observer{
		CheckJRuby:    (&poolCheck{s.JRuby, &seen.pool}).observe,
		CheckIdentity: s.Identity.judge,
		CheckExpiry:   s.Expiry.judge,
	}
}

// Scheduled is a check that runs repeatedly.
type Scheduled struct {
	// Check runs the check once; a zero Finding is none. It must not be called again before it has returned.
	Check func(context.Context) Finding
	// Interval is the pause between two runs, Timeout the longest that one may take.
	Interval, Timeout time.Duration
}

// Scheduled returns the checks that run repeatedly, by name, without those that have nothing to look at.
// certname is the name in the host's certificate.
func (s Settings) Scheduled(certname string, credentials *puppetclient.Credentials) map[string]*Scheduled {
	list := map[string]*Scheduled{CheckDisk: s.Disk.schedule()}
	if s.Code.Dir != "" {
		list[CheckCode] = s.Code.schedule()
	}
	if s.PuppetDB.Address != "" {
		list[CheckPuppetDB] = s.PuppetDB.schedule(certname, credentials)
	}
	return list
}

// List is a list of checks: [All], or a configuration, which is All with other severities.
type List []Check

// All returns every check, the probe first, in the order in which they are shown.
func All() List {
	return List{probe(), jruby(), unit(), identity(), expiry(), disk(), code(), puppetdb()}
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
