package answer

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
	// ModeSince is when the mode last changed, and InServiceSince when InService did, both as far as this daemon has seen.
	ModeSince      time.Time
	InServiceSince time.Time
}

// InService reports whether a balancer without codes of its own is told to use the service, once every hold is firm.
func (m Moment) InService() bool { return m.Mode == drain.Ready && m.Verdict.Health.Serves() }
