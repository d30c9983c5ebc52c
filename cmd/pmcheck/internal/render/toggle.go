package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// Toggle is the outcome of drain, maint or ready, and its JSON.
type Toggle struct {
	Set *drain.Hold `json:"set,omitempty"`
	// Kept are the fields of Set that were not given, and are kept from the previous hold.
	Kept   []rotation.Field `json:"kept,omitempty"`
	Lifted []drain.Hold     `json:"lifted,omitempty"`
	// Service is the service that the fields below are about.
	Service string `json:"service"`
	// Mode is the mode now, according to the hold files.
	Mode drain.Mode `json:"mode"`
	// Remaining are the other holds in effect.
	Remaining []drain.Hold `json:"remaining,omitempty"`
	// InEffect reports whether the daemon acts on the change.
	InEffect bool `json:"in_effect"`
	// Answer is the new answer to a balancer that chose no codes; nil without a daemon.
	Answer *api.Answer `json:"answer,omitempty"`
	// Told are the new answers to the balancers that ask.
	Told  []rotation.Telling `json:"told,omitempty"`
	Error string             `json:"error,omitempty"` // why it is not in effect
	// With --wait, Reached reports whether the goal was reached, and Obstacles what was
	// in the way when the time was up.
	Reached   *bool          `json:"reached,omitempty"`
	Obstacles []api.Obstacle `json:"obstacles,omitempty"`

	// Tomorrow reports that the end was given as a time of day that has passed today.
	Tomorrow bool `json:"-"`
}

// Write writes what has changed, and what balancers have been told since.
func (t *Toggle) Write(w io.Writer, since time.Time) {
	switch {
	case t.Set != nil:
		tomorrow := ""
		if t.Tomorrow {
			tomorrow = ", tomorrow"
		}
		fmt.Fprintf(w, "held: %s%s\n", Hold(*t.Set), tomorrow)
		t.writeKept(w)
	case len(t.Lifted) == 0:
		fmt.Fprintln(w, "nothing to lift")
	}
	for _, h := range t.Lifted {
		fmt.Fprintf(w, "lifted: %s\n", Hold(h))
	}
	switch {
	case t.InEffect:
		fmt.Fprintf(w, "in effect: %s\n", t.told(since.Local().Format(time.TimeOnly)))
	case strings.HasPrefix(t.Error, api.ErrNoDaemon.Error()):
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

// writeKept writes which fields are kept, and which flags change them.
func (t *Toggle) writeKept(w io.Writer) {
	var names, without []string
	for _, f := range t.Kept {
		switch f {
		case rotation.FieldReason:
			names, without = append(names, "reason"), append(without, "--reason ''")
		case rotation.FieldUntil:
			names, without = append(names, "end"), append(without, "--until never")
		case rotation.FieldUntilReboot:
			names, without = append(names, "end at reboot"), append(without, "--until-reboot=false")
		}
	}
	it := "it"
	if len(names) > 1 {
		it = "them"
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "kept: %s (without %s: %s)\n", strings.Join(names, ", "), it, strings.Join(without, " "))
	}
}

// told describes what balancers have been told since a time of day. If there are several
// answers, each comes with the number of balancers that get it.
func (t *Toggle) told(since string) string {
	switch len(t.Told) {
	case 0:
		asked := api.Balancer{Service: t.Service}
		return fmt.Sprintf("no balancer asks; one would be told %s (%s, since %s)",
			answerText(*t.Answer), asked.Asks(), since)
	case 1:
		only := t.Told[0]
		return fmt.Sprintf("balancers are told %s (%s, since %s)",
			answerText(only.Answer), strings.Join(only.Asks, " "), since)
	}
	var parts []string
	for _, told := range t.Told {
		parts = append(parts, fmt.Sprintf("%s (%d: %s)",
			answerText(told.Answer), told.Balancers, strings.Join(told.Asks, " ")))
	}
	return fmt.Sprintf("balancers are told %s, since %s", strings.Join(parts, ", "), since)
}

func answerText(a api.Answer) string { return fmt.Sprintf("%d %s", a.Code, a.Body) }
