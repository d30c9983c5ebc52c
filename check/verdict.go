package check

import "time"

// Health is a conclusion about a master.
type Health string

// The conclusions. Healthy and Busy masters should get agents.
const (
	Healthy   Health = "healthy"   // serves agents
	Busy      Health = "busy"      // serves agents, slowly
	Warming   Health = "warming"   // will serve agents soon
	Unhealthy Health = "unhealthy" // agents would fail
	Unknown   Health = "unknown"   // there is no recent probe, or no probe was possible
)

// Serves reports whether a master of this health should get agents.
func (h Health) Serves() bool { return h == Healthy || h == Busy }

// Verdict is the conclusion from recent results. For the zero Verdict, At returns
// Unknown.
type Verdict struct {
	Health  Health    `json:"health"`           // the conclusion
	Reason  Reason    `json:"reason"`           // why
	Detail  string    `json:"detail,omitempty"` // explains the reason; empty when there is no problem
	Since   time.Time `json:"since"`            // when it was found, or health and reason last changed
	Checked time.Time `json:"checked,omitzero"` // when the newest probe behind the verdict began
	Expires time.Time `json:"expires,omitzero"` // when the verdict becomes unknown unless it is renewed
}

// At returns the verdict that holds at the given time: v, or Unknown once v has
// expired. The comparison is monotonic where both times are.
func (v Verdict) At(now time.Time) Verdict {
	if v.Health == "" {
		return Verdict{Health: Unknown, Reason: NotProbed, Since: now}
	}
	if v.Expires.IsZero() || now.Before(v.Expires) {
		return v
	}

	v.Health = Unknown
	v.Reason = Stale
	v.Since = v.Expires
	v.Detail = "no probe has said anything about the master since " + v.Checked.Format(time.RFC3339)
	return v
}

// String returns the health, and the reason unless it is OK.
func (v Verdict) String() string {
	if v.Reason == OK {
		return string(v.Health)
	}
	return string(v.Health) + ": " + string(v.Reason)
}

// Same reports whether two verdicts have the same health and the same reason.
func (v Verdict) Same(w Verdict) bool { return v.Health == w.Health && v.Reason == w.Reason }

// Judge makes a verdict of the results of successive probes. It is not safe for
// concurrent use: one probe loop owns one judge.
//
// A good result makes a master healthy at once: a balancer has a rise of its own. A fault of the master makes it
// unhealthy at once. But a master that is saturated is busy, until it has left all probes unanswered
// for StuckAfter since its last good response: a herd of agents saturates every master alike, and
// taking one out finishes the others.
//
// A fault that says nothing about the master, such as a file of this host that is missing, leaves the last verdict to
// age. Once that has expired, the master is Unknown, by the reason of the fault.
type Judge struct {
	MaxAge     time.Duration // how long a result is valid; 0 means for ever
	StuckAfter time.Duration // how long a saturated master may leave probes unanswered

	latest  Verdict
	good    Memory // zero once the master has had another fault than saturation
	doubted bool   // pmcheck was in doubt about the last good response: see Result.Doubted
	another bool   // good is the memory of another Judge
}

// Memory is what a Judge remembers of a master: its last good response. A daemon leaves it to the next, whose first
// probes may meet a master that is saturated.
type Memory struct {
	Answered time.Time // when the response was read
	Listener string    // see Listening.ID
}

// Verdict returns the conclusion so far. It may have expired: see Verdict.At.
func (j *Judge) Verdict() Verdict { return j.latest }

// Memory returns what may be left to another Judge. It is zero if the master has not given a good response, has had
// a fault since, or gave its response while pmcheck was in doubt about something else: two doubts are no 200.
func (j *Judge) Memory() Memory {
	if j.doubted {
		return Memory{}
	}
	return j.good
}

// Recall makes a new Judge go on from the memory of another. The memory is only used for a master that
// is saturated, that listens on the same socket as then, so that it is the same process, and whose response is younger
// than StuckAfter and not in the future; and only while pmcheck is in no doubt about anything else.
func (j *Judge) Recall(m Memory) {
	if m.Listener == "" {
		return // any process may have answered
	}
	j.good = m
	j.another = true
}

// Observe takes the next result into account and returns the verdict.
func (j *Judge) Observe(r Result) Verdict {
	if r.Fault != nil && healthOf(r.Fault.Reason) == Unknown && j.lasts(r) {
		return j.latest
	}
	next := Verdict{Health: Healthy, Reason: OK, Since: r.Asked.Add(r.Took), Checked: r.Asked}

	switch {
	case r.Fault == nil:
		j.good = Memory{Answered: next.Since, Listener: r.Listener}
		j.doubted = r.Doubted()
		j.another = false

	case r.Saturated && j.answeredLately(r):
		next.Health = Busy
		next.Reason = Saturated
		next.Detail = r.Fault.Error()

	default:
		next.Health = healthOf(r.Fault.Reason)
		next.Reason = r.Fault.Reason
		next.Detail = r.Fault.Error()
		j.good = Memory{} // what is saturated later may be another process
	}

	if j.MaxAge > 0 {
		next.Expires = r.Asked.Add(j.MaxAge)
	}
	j.latest = next
	return next
}

// lasts reports whether the last verdict may still be believed beside a result that says nothing about the master: it
// has not expired, and the same process listens.
func (j *Judge) lasts(r Result) bool {
	isKnown := j.latest.At(r.Asked.Add(r.Took)).Health != Unknown
	answeredByAnother := !j.good.Answered.IsZero() && j.good.Listener != r.Listener
	return isKnown && !answeredByAnother
}

// answeredLately reports whether the process that is saturated has given a good response within StuckAfter, and has
// had no other fault since.
func (j *Judge) answeredLately(r Result) bool {
	// An unknown listener ends no verdict, but beside the memory of another Judge it is a second doubt.
	isAnother := j.good.Listener != r.Listener
	isKnown := j.good.Listener != "" && r.Listener != ""
	if !isKnown {
		isAnother = j.another
	}
	if j.good.Answered.IsZero() || isAnother {
		return false
	}
	if j.another && r.Doubted() {
		return false // two doubts
	}
	age := r.Asked.Sub(j.good.Answered)
	return age >= 0 && age < j.StuckAfter
}
