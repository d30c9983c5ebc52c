package check

import (
	"fmt"
	"slices"
	"time"
)

// Severity says what a check may do to the verdict.
type Severity string

// The severities.
const (
	Eject Severity = "eject" // what is wrong takes the master out
	Warn  Severity = "warn"  // what is wrong is shown
	Off   Severity = "off"   // the check is not made
)

// Words lists the severities.
func (Severity) Words() []string { return []string{"eject", "warn", "off"} }

// State is how one check stands.
type State string

// The states of a check.
const (
	StateOK   State = "ok"
	StateWarn State = "warn" // an operator should look, agents are served
	StateBad  State = "bad"  // agents fail, or soon will
	StateNone State = "unknown"
)

// Finding is what one check says of the master, beside the probe. It is
// immutable once returned.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	State    State    `json:"state"`
	// Health is what the finding makes of the verdict where the severity is
	// eject; empty leaves it alone.
	Health    Health        `json:"health,omitempty"`
	Reason    Reason        `json:"reason"`
	Value     string        `json:"value,omitempty"`     // what was found, for a reader
	Threshold string        `json:"threshold,omitempty"` // what it is compared with, for a reader
	Detail    string        `json:"detail,omitempty"`    // what is wrong, in words; empty when nothing is
	Checked   time.Time     `json:"checked,omitzero"`    // when the finding was made
	Pool      *Pool         `json:"pool,omitempty"`      // of the check jruby
	Code      []Environment `json:"code,omitempty"`      // the environments, of the check code
	// Absent says that this master has nothing that the check could look at, such as
	// a JRuby pool or code that r10k has deployed. Such a finding is not shown.
	Absent bool `json:"-"`
}

// newFinding returns the finding of a check that is made now and finds nothing wrong.
func newFinding(name string) Finding {
	return Finding{Check: name, State: StateOK, Reason: OK, Checked: time.Now()}
}

// unknown returns f as that of a check that could not find out.
func (f Finding) unknown(why string) Finding {
	f.State, f.Health, f.Reason, f.Detail = StateNone, "", NotKnown, why
	return f
}

// absent returns f as that of a check that has nothing to look at.
func (f Finding) absent(why string) Finding {
	f = f.unknown(why)
	f.Absent = true
	return f
}

// Outlived returns f as that of a master that has stopped answering since: what
// was found is shown, and is known to be old.
func (f Finding) Outlived() Finding {
	f.State, f.Health, f.Reason = StateNone, "", Stale
	f.Detail = "as it was before the master stopped answering"
	return f
}

// finding makes a Finding of what is wrong.
func finding(s State, h Health, r Reason, threshold, detail string, args ...any) Finding {
	return Finding{State: s, Health: h, Reason: r, Threshold: threshold, Detail: fmt.Sprintf(detail, args...)}
}

// Fold concludes from the verdict on the probes and the findings of the other
// checks. It is a pure function:
//
//   - a finding counts if its severity is Eject and it names a health;
//   - the worst health wins, in the order healthy, busy, warming, unhealthy;
//     among equals the first finding;
//   - a finding never makes a master that does not serve serve, but what the
//     service manager says of one explains why, so it replaces the verdict.
//
// The verdict keeps the times of the probe: without fresh probes it expires,
// whatever the findings say.
func Fold(probe Verdict, findings []Finding) Verdict {
	folded := probe
	for _, f := range findings {
		if f.Severity != Eject || f.Health == "" {
			continue
		}
		worse := probe.Health.Serves() && rank(f.Health) > rank(folded.Health)
		explains := f.Check == CheckUnit && !probe.Health.Serves() && !f.Health.Serves()
		if worse || explains {
			folded.Health, folded.Reason, folded.Detail, folded.Since = f.Health, f.Reason, f.Detail, f.Checked
		}
	}
	return folded
}

// rank orders what findings can make of a verdict.
func rank(h Health) int { return slices.Index([]Health{Healthy, Busy, Warming, Unhealthy, Unknown}, h) }
