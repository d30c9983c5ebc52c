package agent

import (
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// Server is the service that "/" asks about: the master itself.
const Server = "server"

// state is everything the agent knows at one moment. It is immutable.
type state struct {
	turned   time.Time // when the loop published it
	maxAge   time.Duration
	services []service
	holds    drain.Snapshot
	degraded error            // why holds are noticed late
	findings []check.Finding  // of the checks beside the probe
	own      []netip.AddrPort // our ends of the connections to the master
	result   check.Result
	probes   int64
	weight   int // in percent, for agent-checks
}

// service is one part of the master, as it stood when the state was made.
type service struct {
	name    string
	verdict check.Verdict
	probes  int64 // since the start
}

// conclude folds the findings into the verdict on the master. A verdict that
// is the same as in the state before keeps its beginning.
func (s *state) conclude(before *state) {
	for i := range s.services {
		now := &s.services[i]
		if now.name == Server {
			now.verdict = check.Fold(now.verdict, s.findings)
		}
		old, known := before.find(now.name)
		switch {
		case !known:
		case now.verdict.Same(old.verdict):
			now.verdict.Since = old.verdict.Since
		case now.verdict.Since.Before(old.verdict.Since):
			now.verdict.Since = s.turned // back to what it was once
		}
	}
}

// find returns the service of a name.
func (s *state) find(name string) (*service, bool) {
	for i := range s.services {
		if s.services[i].name == name {
			return &s.services[i], true
		}
	}
	return nil, false
}

// holdsMaxAge is how long a reading of the holds may be believed. They are
// read about once a second; if that stops, so has the file system.
const holdsMaxAge = 15 * time.Second

// mode returns the mode of a service now, and the holds that make it. It is
// asked with each answer, so that a hold ends on time.
func (s *state) mode(name string, now time.Time) (drain.Mode, []drain.Hold) {
	if now.Sub(s.holds.Taken()) < holdsMaxAge {
		return s.holds.Mode(name, now)
	}
	return drain.Maint, []drain.Hold{{
		Holder: drain.Directory,
		Mode:   drain.Maint,
		Code:   drain.Unreadable,
		Error:  "the holds could not be read since " + s.holds.Taken().Format(time.RFC3339),
	}}
}

// answer is what a balancer is told about a service now.
func (s *state) answer(v *service, codes Codes, now time.Time) Answer {
	mode, _ := s.mode(v.name, now)
	return Decide(mode, v.verdict.At(now), codes)
}

// live reports whether the loop still turns.
func (s *state) live(now time.Time) bool { return now.Sub(s.turned) < s.maxAge }
