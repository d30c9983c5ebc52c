package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Toggle is the outcome of drain, maint or ready, and its JSON.
type Toggle struct {
	Set    *drain.Hold  `json:"set,omitempty"`
	Lifted []drain.Hold `json:"lifted,omitempty"`
	// Mode is the mode of the service now, according to the hold files.
	Mode drain.Mode `json:"mode"`
	// Remaining are the other holds in effect.
	Remaining []drain.Hold `json:"remaining,omitempty"`
	// InEffect reports whether the daemon acts on the change.
	InEffect bool `json:"in_effect"`
	// Answer is the new answer to a balancer that chose no codes; nil without a daemon.
	Answer *status.Answer `json:"answer,omitempty"`
	Error  string         `json:"error,omitempty"` // why it is not in effect

	state string
}

// Take notes that the daemon acts on the change, as its status says.
func (t *Toggle) Take(st status.Status, service string) {
	v, _ := st.Service(service)
	t.InEffect, t.Answer, t.state = true, &v.Answer, State(v)
	if !asked(st, service) {
		t.state += "; no balancer asks"
	}
}

// Write writes what was lifted, and the state since.
func (t *Toggle) Write(w io.Writer) {
	if t.Set == nil && len(t.Lifted) == 0 {
		fmt.Fprintln(w, "nothing to lift")
	}
	for _, h := range t.Lifted {
		fmt.Fprintf(w, "lifted: %s\n", Hold(h))
	}
	switch {
	case t.InEffect:
		fmt.Fprintf(w, "in effect: %s\n", t.state)
	case strings.HasPrefix(t.Error, status.ErrNoDaemon.Error()):
		fmt.Fprintf(w, "not in effect yet: %s; it applies when the daemon starts\n", text.Printable(t.Error, maxLine))
	default:
		fmt.Fprintf(w, "not in effect: %s\n", text.Printable(t.Error, maxLine))
	}
	if len(t.Remaining) == 0 {
		return
	}
	fmt.Fprintf(w, "other holds: %d, so the mode is %s\n", len(t.Remaining), t.Mode)
	for _, h := range t.Remaining {
		fmt.Fprintf(w, "  %s\n", Held(h))
	}
}
