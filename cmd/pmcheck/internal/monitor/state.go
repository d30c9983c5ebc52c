package monitor

import (
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// State is everything the monitor knows at one moment. It must not be changed:
// every reader shares it.
type State struct {
	Published time.Time        // when the loop published it
	MaxAge    time.Duration    // how long after Published the loop counts as running
	Services  []Service        // the master and those beside it
	Holds     drain.Snapshot   // to be asked at the time of an answer, so that a hold ends on time
	Findings  []check.Finding  // of the checks other than the probe
	Result    check.Result     // of the last probe of the master
	Pool      check.PoolMemory // for the next daemon
	Own       []netip.AddrPort // the daemon's ends of its connections to the master
	// Address is where the master is probed. If it is assumed, since no source names it, it may be another than the
	// configuration has: where the master's unit listens.
	Address string
	Assumed bool
	// Doubted is set if what answers there is not the unit's, although the unit runs.
	Doubted bool
	// Listener says whose the socket of this host is that listens there.
	Listener Owner
	// Guarded is set if the guard of the master's unit runs, see systemd.UnitState.
	Guarded bool
}

// Service is one part of the master, as it stood when the state was made.
type Service struct {
	Name    drain.Service
	Verdict check.Verdict
	Probes  int64 // since the start
	// Memory is what the next daemon may go on from; zero unless the service serves, or has not been probed.
	Memory check.Memory
	// ModeSince is when the mode last changed, or when the daemon started if it has not
	// changed since.
	ModeSince time.Time
	// InServiceSince is when the service began or ceased to be in service, as far as this daemon has seen.
	InServiceSince time.Time
}

// conclude folds the findings into the verdict on the master, and sets since when each
// verdict and mode has been the same, which it finds in the previous state.
func (s *State) conclude(before *State) {
	for i := range s.Services {
		now := &s.Services[i]
		if now.Name == drain.Master {
			now.Verdict = check.Fold(now.Verdict, s.Findings)
		}

		// A master that was out stays out for the next daemon.
		if now.Probes > 0 && !now.Verdict.Health.Serves() {
			now.Memory = check.Memory{}
		}
		s.compare(now, before)
	}
}

// compare sets since when the verdict, the mode and the answer of a service have been as they are.
func (s *State) compare(now *Service, before *State) {
	now.ModeSince = s.Published
	now.InServiceSince = s.Published
	old, known := before.Service(now.Name)
	if !known {
		return
	}

	is := s.at(now, s.Published)
	was := before.at(old, before.Published)

	now.Verdict.Since = s.Published
	if now.Verdict.Same(old.Verdict) {
		now.Verdict.Since = old.Verdict.Since
	}
	if is.Mode == was.Mode {
		now.ModeSince = old.ModeSince
	}
	if is.InService() == was.InService() {
		now.InServiceSince = old.InServiceSince
	}
}

// Service returns the service with that name, and reports whether there is one.
func (s *State) Service(name drain.Service) (*Service, bool) {
	for i := range s.Services {
		if s.Services[i].Name == name {
			return &s.Services[i], true
		}
	}
	return nil, false
}

// Master returns the master itself; the zero Service before the first state.
func (s *State) Master() Service {
	master, known := s.Service(drain.Master)
	if !known {
		return Service{}
	}
	return *master
}

// Memory returns what the next daemon may go on from.
func (s *State) Memory() Memory {
	good := map[drain.Service]check.Memory{}
	for _, v := range s.Services {
		if v.Memory != (check.Memory{}) {
			good[v.Name] = v.Memory
		}
	}
	left := Memory{Good: good, Pool: s.Pool}
	if s.Assumed {
		left.Address = s.Address
	}
	return left
}

// Judged reports whether there is a verdict on the master that balancers may get.
func (s *State) Judged() bool { return s.Master().Probes > 0 }

// Live reports whether the loop is still running.
func (s *State) Live(now time.Time) bool { return now.Sub(s.Published) < s.MaxAge }
