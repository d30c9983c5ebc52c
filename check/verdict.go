package check

import "time"

// Health is a conclusion about a master.
type Health string

// The conclusions. Healthy and Busy masters are to be given agents.
const (
	Healthy   Health = "healthy"   // serves agents
	Busy      Health = "busy"      // serves agents, slowly
	Warming   Health = "warming"   // will serve agents soon
	Unhealthy Health = "unhealthy" // agents would fail
	Unknown   Health = "unknown"   // no probe is young enough, or none could be made
)

// Serves reports whether a master of this health is to be given agents.
func (h Health) Serves() bool { return h == Healthy || h == Busy }

// Verdict is the conclusion over recent results. The zero Verdict is Unknown
// to At.
type Verdict struct {
	Health  Health    `json:"health"`
	Reason  Reason    `json:"reason"`
	Detail  string    `json:"detail,omitempty"` // what the reason stands for, in words; empty when all is well
	Since   time.Time `json:"since"`            // when health and reason became what they are
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

// Same reports whether two verdicts conclude the same for the same reason.
func (v Verdict) Same(w Verdict) bool { return v.Health == w.Health && v.Reason == w.Reason }
