package monitor

import (
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// A Moment is one service at one moment: what the operators want of it, and what is true. An answer to a balancer and
// the status of the service are made of the same Moment.
type Moment struct {
	Service drain.Service
	Time    time.Time
	Mode    drain.Mode
	// Leaving is what a hold waits for, if the work of its holder has not begun.
	Leaving drain.Leaving
	Verdict check.Verdict
	// ModeSince is when the mode last changed, and ServingSince when Serves did, both as far as this daemon has seen.
	ModeSince    time.Time
	ServingSince time.Time
}

// Serves reports whether a balancer without codes of its own is told to use the service, once every hold is firm.
func (m Moment) Serves() bool { return m.Mode == drain.Ready && m.Verdict.Health.Serves() }

// At returns a service of the state at a moment, and reports whether there is one of that name. Between two states, a
// verdict can expire and a hold can end.
func (s *State) At(name drain.Service, now time.Time) (m Moment, known bool) {
	service, known := s.Service(name)
	if !known {
		return Moment{}, false
	}

	m = s.at(service, now)
	if m.Serves() != s.at(service, s.Published).Serves() {
		m.ServingSince = s.Published
	}
	return m, true
}

// at returns a service as it is at now, with the times of when the state was made.
func (s *State) at(service *Service, now time.Time) Moment {
	mode, _ := s.Holds.Mode(service.Name, now)
	return Moment{
		Service:      service.Name,
		Time:         now,
		Mode:         mode,
		Leaving:      s.Holds.Leaving(service.Name, now),
		Verdict:      service.Verdict.At(now),
		ModeSince:    service.ModeSince,
		ServingSince: service.ServingSince,
	}
}

// Leaves returns a function that reports whether a hold on a service is leaving at now.
func (s *State) Leaves(now time.Time) func(service drain.Service) bool {
	return func(service drain.Service) bool { return s.Holds.Leaving(service, now) != drain.Firm }
}
