// Package answer decides what a balancer is answered, of one [Moment] of a service: the mode, which operators set, and
// the verdict, which is measured. Whether the balancer may lose a master that is leaving is decided by the rule of
// package balancer. MaxOut is how many masters of a pool may be out, which budget, fleet and balancers share. All of it
// is pure.
package answer

import (
	"net/http"

	"github.com/pmcheck/pmcheck/drain"
)

// Answer is the answer to a balancer: a status code and one line.
type Answer struct {
	Code int    `json:"code"` // the status code
	Body string `json:"body"` // the line
}

// Serving is the body of a good answer. Balancers may look for the word
// running, as they do in Puppet Server's own answer; no other body contains it.
const Serving = "Puppet Server is running."

// Decide returns the answer for a service at a moment: for its mode and its verdict.
//
//	mode    may lose   verdict serves   answer
//	ready   any        yes              200 Puppet Server is running.
//	ready   any        no               the code for unhealthy, 503 by default; body verdict: reason
//	drain   yes        any              the code for drain, 503 by default; body drain
//	maint   yes        any              the code for maint, 503 by default; body maint
//	drain   no         any              as ready
//	maint   no         any              as ready
//
// May lose says that the balancer may lose the master. It is false only for a hold that is leaving, by
// the rule of package balancer.
//
// A code below 400 means healthy to a balancer, and comes with the body of a good
// answer. A balancer that chooses such a code for a mode asks for the verdict only, and
// gets the code only while the verdict serves. A balancer that chooses such a code for
// unhealthy asks for the hold only.
func Decide(m Moment, codes Codes, mayLose bool) Answer {
	codes = codes.Filled()

	code := http.StatusOK
	mode := m.Mode
	switch mode {
	case drain.Ready:
	case drain.Drain:
		code = codes.Drain
	default: // maint, and every value that is not a mode
		mode = drain.Maint
		code = codes.Maint
	}
	if code >= http.StatusBadRequest && mayLose {
		return Answer{Code: code, Body: string(mode)}
	}

	if m.Verdict.Health.Serves() {
		if !mayLose { // the balancer has to keep the master
			code = http.StatusOK
		}
		return Answer{Code: code, Body: Serving}
	}

	if codes.HidesVerdict() { // the balancer asks for the hold only
		return Answer{Code: codes.Unhealthy, Body: Serving}
	}
	return Answer{Code: codes.Unhealthy, Body: string(m.Verdict.Health) + ": " + string(m.Verdict.Reason)}
}
