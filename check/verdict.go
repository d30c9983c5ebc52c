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
	Health  Health    `json:"health"`
	Reason  Reason    `json:"reason"`
	Detail  string    `json:"detail,omitempty"` // explains the reason; empty when there is no problem
	Since   time.Time `json:"since"`            // when health or reason last changed
	Checked time.Time `json:"checked,omitzero"` // when the newest probe behind the verdict began
	Expires time.Time `json:"expires,omitzero"` // when the verdict turns Unknown unless it is renewed
}

// At returns the verdict that holds at the given time: v, or Unknown once v has
// expired. The comparison is monotonic where both times are.
func (v Verdict) At(now time.Time) Verdict {
	switch {
	case v.Health == "":
		return Verdict{Health: Unknown, Reason: NotProbed, Since: now}
	case v.Expires.IsZero() || now.Before(v.Expires):
		return v
	}
	return Verdict{
		Health:  Unknown,
		Reason:  Stale,
		Detail:  "no probe has ended since " + v.Checked.Format(time.RFC3339),
		Since:   v.Expires,
		Checked: v.Checked,
		Expires: v.Expires,
	}
}

// Same reports whether two verdicts have the same health and the same reason.
func (v Verdict) Same(w Verdict) bool { return v.Health == w.Health && v.Reason == w.Reason }

// Judge turns the results of successive probes into a verdict. It is not safe for
// concurrent use: one probe loop owns one judge.
//
// A good result makes a master healthy at once: a balancer has a rise of its own. A
// definite fault (refused, TLS, an error answer) makes a healthy master unhealthy as soon
// as a second probe confirms it; with timeouts it takes Fall of them in a row. Until then
// Observe asks for the next probe at once.
type Judge struct {
	Fall   int           // timeouts in a row that make the master unhealthy; less than 1 means 1
	MaxAge time.Duration // how long a result is valid; 0 means for ever
	// Patience, if above 1, replaces Fall while the master is known to be saturated;
	// until then the master is busy. It may change between results.
	Patience int

	verdict Verdict
	bad     int  // results with a fault in a row
	suspect bool // one of those faults was definite
}

// Verdict returns the conclusion so far. It may have expired: see Verdict.At.
func (j *Judge) Verdict() Verdict { return j.verdict }

// Observe takes the next result into account and returns the verdict. If confirm is
// true, the caller should probe again now, because the verdict depends on it.
func (j *Judge) Observe(r Result) (v Verdict, confirm bool) {
	if r.Fault == nil {
		j.bad, j.suspect = 0, false
		return j.conclude(r, Healthy, OK, ""), false
	}
	j.bad++
	silent := !r.Fault.Definite() && !j.suspect
	j.suspect = !silent
	if j.verdict.Health.Serves() {
		if silent && j.bad < j.Patience {
			return j.conclude(r, Busy, JRubyBusy, "no answer in time, and all JRubies were at work"), false
		}
		if silent && j.bad < j.Fall || !silent && j.bad == 1 {
			return j.verdict, true
		}
	}
	return j.conclude(r, r.Fault.Health(), r.Fault.Reason, r.Fault.Error()), false
}

func (j *Judge) conclude(r Result, h Health, reason Reason, detail string) Verdict {
	next := Verdict{Health: h, Reason: reason, Detail: detail, Since: r.Asked.Add(r.Took), Checked: r.Asked}
	if next.Same(j.verdict) {
		next.Since = j.verdict.Since
	}
	if j.MaxAge > 0 {
		next.Expires = r.Asked.Add(j.MaxAge)
	}
	j.verdict = next
	return next
}
