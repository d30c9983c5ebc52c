package monitor

import (
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// At returns a service of the state at a moment, and reports whether there is one of that name. Between two states, a
// verdict can expire and a hold can end.
func (s *State) At(name drain.Service, now time.Time) (m answer.Moment, known bool) {
	service, known := s.Service(name)
	if !known {
		return answer.Moment{}, false
	}

	m = s.at(service, now)
	if m.InService() != s.at(service, s.Published).InService() {
		m.InServiceSince = s.Published
	}
	return m, true
}

// at returns a service as it is at now, with the times of when the state was made.
func (s *State) at(service *Service, now time.Time) answer.Moment {
	mode, _ := s.Holds.Mode(service.Name, now)
	return answer.Moment{
		Service:        service.Name,
		Time:           now,
		Mode:           mode,
		Leaving:        s.Holds.Leaving(service.Name, now),
		Verdict:        service.Verdict.At(now),
		ModeSince:      service.ModeSince,
		InServiceSince: service.InServiceSince,
	}
}

// Leaves returns a function that reports whether a hold on a service is leaving at now.
func (s *State) Leaves(now time.Time) func(service drain.Service) bool {
	return func(service drain.Service) bool { return s.Holds.Leaving(service, now) != drain.Firm }
}
