package check

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Severity says what a check may do to the verdict.
type Severity string

// The severities.
const (
	Eject Severity = "eject" // a problem takes the master out
	Warn  Severity = "warn"  // a problem is only shown
	Off   Severity = "off"   // the check does not run
)

// Words lists the severities.
func (Severity) Words() []string { return []string{"eject", "warn", "off"} }

// State is the outcome of one check.
type State string

// The states of a check.
const (
	StateOK   State = "ok"      // nothing is wrong
	StateWarn State = "warn"    // an operator should look, agents are served
	StateBad  State = "bad"     // agents fail, or soon will
	StateNone State = "unknown" // the check could not find out
)

// Finding is the result of one check other than the probe. It is immutable once
// returned.
type Finding struct {
	Check    string   `json:"name"`     // its name
	Severity Severity `json:"severity"` // what it may do
	State    State    `json:"state"`    // its outcome
	// Health is the health that the finding gives the verdict if the severity is
	// eject; empty means that the finding does not change the verdict.
	Health  Health        `json:"health,omitempty"`
	Reason  Reason        `json:"reason"`                 // why
	Value   string        `json:"value,omitempty"`        // what was found, for a reader
	Detail  string        `json:"detail,omitempty"`       // what is wrong, in words; empty when nothing is
	Checked time.Time     `json:"checked,omitzero"`       // when the finding was made
	Pool    *Pool         `json:"pool,omitempty"`         // of the check jruby
	Code    []Environment `json:"environments,omitempty"` // the environments, of the check code
}

// KeepsFromStarting reports whether Puppet Server may not start again before what was found is mended: it reads the
// same files when it starts.
func (f Finding) KeepsFromStarting() bool {
	return slices.Contains([]Reason{
		CertificatePending,
		puppetclient.OwnFilesInvalid,
		puppetclient.OwnFilesMissing,
	}, f.Reason)
}

func newFinding(name string) Finding {
	return Finding{Check: name, State: StateOK, Reason: OK, Checked: time.Now()}
}

// unknown returns f as the finding of a check that could not find out, and why.
func (f Finding) unknown(why string) Finding {
	f.State = StateNone
	f.Health = ""
	f.Reason = NotKnown
	f.Detail = why
	return f
}

// finding returns what a check found, without its name.
func finding(s State, h Health, r Reason, detail string, args ...any) Finding {
	return Finding{State: s, Health: h, Reason: r, Detail: fmt.Sprintf(detail, args...)}
}

// Fold combines the verdict on the probes with the findings of the other checks. It
// is a pure function:
//
//   - a finding counts if its severity is Eject and it has a Health;
//   - the worst health wins, in the order healthy, busy, warming, unhealthy;
//     among equals the first finding wins;
//   - if the probes say that the master does not serve, no finding changes that, but
//     the finding of the check unit replaces the verdict, because it explains why;
//   - a finding with StateNone does nothing else.
//
// The verdict keeps the times of the probe: without fresh probes it expires,
// whatever the findings say.
func Fold(probe Verdict, findings []Finding) Verdict {
	folded := probe
	for _, f := range findings {
		if f.Severity != Eject || f.Health == "" {
			continue
		}

		counts := f.State != StateNone && rank(f.Health) > rank(folded.Health)
		if !probe.Health.Serves() {
			// The master is out already: only the reason can become better. Before the first probe it may serve, and a unit
			// that is not known to be the master's says nothing of it.
			isKnown := f.State != StateNone || probe.Reason != NotProbed
			counts = f.Check == CheckUnit && !f.Health.Serves() && isKnown
		}
		if counts {
			folded.Health = f.Health
			folded.Reason = f.Reason
			folded.Detail = f.Detail
		}
	}
	return folded
}

func rank(h Health) int { return slices.Index([]Health{Healthy, Busy, Warming, Unhealthy, Unknown}, h) }

// Fault is why a probe did not find the master healthy. It is an error.
type Fault = puppetclient.Error

// faultOf returns the fault that an error is or wraps; nil if it has none.
func faultOf(err error) *Fault {
	fault, _ := errors.AsType[*Fault](err)
	return fault
}
