// Package blocker has the words for what is between a master and what is wanted of it. The rule of package balancer,
// the questions to a status.Status, the other masters of a fleet and the budget all answer with a list of blockers. An
// empty list means that the way is clear. What is not known is a blocker, too, and never an empty list.
package blocker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Kind says what is in the way.
type Kind string

// The kinds of blockers.
const (
	OnlyServer Kind = "only_server" // a balancer or the fleet has no other server
	Needed     Kind = "needed"      // a balancer or the fleet cannot do without one more server yet, or is asked again
	Order      Kind = "order"       // another balancer has to let the master go first
	Budget     Kind = "budget"      // as many masters are out as may be, or this one still has a slot
	Balancer   Kind = "balancer"    // a balancer still sends agents, or does not yet, or has not asked
	Agent      Kind = "agent"       // requests are under way, or a connection may carry another
	Answer     Kind = "answer"      // balancers are not told what they should be
	Gate       Kind = "gate"        // the gate is open and should not be, or closed

	// Unknown is what is not known: how long it keeps a master depends on what that is, and who leaves. The daemon, the
	// kernel, the database of a budget or a whole fleet does not tell, a balancer is not remembered, its view cannot be
	// read, or the daemon is young.
	Unknown Kind = "unknown"
)

// Blocker is one thing between a master and what is wanted of it: while it is held, to leave and be
// idle; while it is ready, to be in service.
type Blocker struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"` // on one line
	// Of is the balancer that is in the way, by its name in messages; empty if it is none.
	Of string `json:"balancer,omitempty"`
	// Until is when what is not known is in the way no more, if nothing has shown it until then; absent if it is in the
	// way as long as it lasts.
	Until time.Time `json:"until,omitzero"`
}

// New returns a blocker with its text.
func New(kind Kind, format string, args ...any) Blocker {
	return Blocker{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Only returns a list with one blocker.
func Only(kind Kind, format string, args ...any) []Blocker {
	return []Blocker{New(kind, format, args...)}
}

// NotKnown returns the blocker that something is not known, and why.
func NotKnown(err error) []Blocker { return Only(Unknown, "%s", err) }

// NotKnownUntil returns the blocker that something is not known, and is in the way until its end.
func NotKnownUntil(end time.Time, format string, args ...any) []Blocker {
	why := New(Unknown, format, args...)
	why.Until = end
	return []Blocker{why}
}

// Counting returns the blockers that count at now: what is not known does until its end.
func Counting(blockers []Blocker, now time.Time) (list []Blocker) {
	for _, b := range blockers {
		hasEnded := !b.Until.IsZero() && !now.Before(b.Until)
		if !hasEnded {
			list = append(list, b)
		}
	}
	return list
}

// Join returns first and, of the other blockers, those of which first does not say more: a balancer that keeps the
// master still sends to it. The list is empty only if both are.
func Join(first, others []Blocker) []Blocker {
	list := slices.Clone(first)
	for _, o := range others {
		isSaid := func(f Blocker) bool { return o.Of != "" && o.Of == f.Of }
		if !slices.ContainsFunc(first, isSaid) {
			list = append(list, o)
		}
	}
	return list
}

// Texts returns the texts of the first blockers, equal ones once, and, if there are more than most, how many more.
func Texts(blockers []Blocker, most int) (texts []string) {
	for _, o := range blockers {
		if !slices.Contains(texts, o.Text) {
			texts = append(texts, o.Text)
		}
	}
	return text.First(texts, most)
}

// Summary returns the texts of the first few blockers on one line.
func Summary(blockers []Blocker) string { return strings.Join(Texts(blockers, 4), "; ") }
