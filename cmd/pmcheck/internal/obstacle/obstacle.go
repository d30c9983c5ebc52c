// Package obstacle has the words for what is in the way. The rule of package balancer, the questions to a
// status.Status, the other masters of a fleet and the budget all answer with a list of obstacles. An empty list means
// that the way is clear.
package obstacle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
)

// Kind says what an Obstacle is.
type Kind string

// The kinds of obstacles.
const (
	Last     Kind = "last"     // a balancer or the fleet has no other server
	Turn     Kind = "turn"     // a balancer or the fleet cannot do without one more server yet, or is asked again
	Order    Kind = "order"    // another balancer has to let the master go first
	Budget   Kind = "budget"   // as many masters are out as may be, or this one still has a slot
	Balancer Kind = "balancer" // a balancer still sends agents, or does not yet, or has not asked
	Unseen   Kind = "unseen"   // what a balancer does is not known: it is not remembered, or its view cannot be read
	Agent    Kind = "agent"    // requests are under way, or a connection may carry another
	Unknown  Kind = "unknown"  // the daemon, the kernel or the count of the JRubies does not tell
	Answer   Kind = "answer"   // balancers are not told what they should be
	Gate     Kind = "gate"     // the gate is open and should not be, or closed
)

// Obstacle is one thing between a master and what is wanted of it: while it is held, to leave and be
// idle; while it is ready, to be in service.
type Obstacle struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"` // on one line
	// Of is the balancer that is in the way, by its name in messages; empty if it is none.
	Of string `json:"of,omitempty"`
}

// New returns an obstacle with its text.
func New(kind Kind, format string, args ...any) Obstacle {
	return Obstacle{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Only returns a list with one obstacle.
func Only(kind Kind, format string, args ...any) []Obstacle {
	return []Obstacle{New(kind, format, args...)}
}

// NotKnown returns the obstacle that something is not known, and why.
func NotKnown(err error) []Obstacle { return Only(Unknown, "%s", err) }

// Join returns first and, of the other obstacles, those of which first does not say more: a balancer that keeps the
// master still sends to it. The list is empty only if both are.
func Join(first, others []Obstacle) []Obstacle {
	list := slices.Clone(first)
	for _, o := range others {
		isSaid := func(f Obstacle) bool { return o.Of != "" && o.Of == f.Of }
		if !slices.ContainsFunc(first, isSaid) {
			list = append(list, o)
		}
	}
	return list
}

// Texts returns the texts of the first obstacles, equal ones once, and, if there are more than most, how many more.
func Texts(obstacles []Obstacle, most int) (texts []string) {
	for _, o := range obstacles {
		if !slices.Contains(texts, o.Text) {
			texts = append(texts, o.Text)
		}
	}
	return text.First(texts, most)
}

// Summary returns the texts of the first few obstacles on one line.
func Summary(obstacles []Obstacle) string { return strings.Join(Texts(obstacles, 4), "; ") }
