package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Telling is what some balancers are told.
type Telling struct {
	status.Answer
	// Balancers is how many are told this, and Asks what they ask for.
	Balancers int      `json:"balancers"`
	Asks      []string `json:"asks"`
}

// Told returns what the balancers of a service are told, each by the codes that it chose, in the order of
// the codes. Those that keep a master that is leaving are told the verdict.
func Told(s status.Status, service string) (list []Telling) {
	v, _ := s.Service(service)
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		kept := slices.ContainsFunc(v.Keeps, func(o status.Obstacle) bool { return o.Concerns == b.Label() })
		told := answer.Decide(v.Mode, v.Verdict, b.Codes(), !kept)
		at := slices.IndexFunc(list, func(t Telling) bool { return t.Answer == told })
		if at < 0 {
			at, list = len(list), append(list, Telling{Answer: told})
		}
		t := &list[at]
		if t.Balancers++; !slices.Contains(t.Asks, b.Asks()) {
			t.Asks = append(t.Asks, b.Asks())
		}
	}
	slices.SortStableFunc(list, func(x, y Telling) int { return cmp.Compare(x.Code, y.Code) })
	return list
}

// Toggle is the outcome of drain, maint or ready, and its JSON.
type Toggle struct {
	Set    *drain.Hold  `json:"set,omitempty"`
	Lifted []drain.Hold `json:"lifted,omitempty"`
	// Service is the service that the fields below are about.
	Service string `json:"service"`
	// Mode is the mode now, according to the hold files.
	Mode drain.Mode `json:"mode"`
	// Remaining are the other holds in effect.
	Remaining []drain.Hold `json:"remaining,omitempty"`
	// InEffect reports whether the daemon acts on the change.
	InEffect bool `json:"in_effect"`
	// Answer is the new answer to a balancer that chose no codes; nil without a daemon.
	Answer *status.Answer `json:"answer,omitempty"`
	// Told are the new answers to the balancers that ask.
	Told  []Telling `json:"told,omitempty"`
	Error string    `json:"error,omitempty"` // why it is not in effect
	// Reached reports whether the goal was reached, and Obstacles what was
	// in the way when the time was up.
	Reached   *bool             `json:"reached,omitempty"`
	Obstacles []status.Obstacle `json:"obstacles,omitempty"`

	// Tomorrow reports that the end was given as a time of day that has passed today.
	Tomorrow bool `json:"-"`
}

// Held describes the hold that was set.
func (t *Toggle) Held(h drain.Hold) string {
	if t.Tomorrow {
		return Hold(h) + ", tomorrow"
	}
	return Hold(h)
}

// Write writes what was lifted, and what balancers have been told since.
func (t *Toggle) Write(w io.Writer, since time.Time) {
	if t.Set == nil && len(t.Lifted) == 0 {
		fmt.Fprintln(w, "nothing to lift")
	}
	for _, h := range t.Lifted {
		fmt.Fprintf(w, "lifted: %s\n", Hold(h))
	}
	switch {
	case t.InEffect:
		fmt.Fprintf(w, "in effect: %s\n", t.told(since.Local().Format(time.TimeOnly)))
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

// told describes what balancers have been told since a time of day. If there are several
// answers, each comes with the number of balancers that get it.
func (t *Toggle) told(since string) string {
	switch len(t.Told) {
	case 0:
		asked := status.Balancer{Service: t.Service}
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

func answerText(a status.Answer) string { return fmt.Sprintf("%d %s", a.Code, a.Body) }
