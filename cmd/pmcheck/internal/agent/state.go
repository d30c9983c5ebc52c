package agent

import (
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
	degraded error // why holds are noticed late
	result   check.Result
	probes   int64
}

// service is one part of the master, as it stood when the state was made.
type service struct {
	name    string
	verdict check.Verdict
	mode    drain.Mode
	because []drain.Hold // the holds that make the mode
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

// answer is what a balancer is told about the service now.
func (v *service) answer(codes Codes, now time.Time) Answer {
	return Decide(v.mode, v.verdict.At(now), codes)
}

// live reports whether the loop still turns.
func (s *state) live(now time.Time) bool { return now.Sub(s.turned) < s.maxAge }
