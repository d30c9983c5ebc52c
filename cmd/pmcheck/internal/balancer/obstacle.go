package balancer

import (
	"fmt"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
)

// ObstacleKind says what an Obstacle is.
type ObstacleKind string

// The kinds of obstacles.
const (
	ObstacleLast     ObstacleKind = "last"     // a balancer has no other server, and expects none back
	ObstacleTurn     ObstacleKind = "turn"     // a balancer or the fleet cannot do without one more server yet
	ObstacleOrder    ObstacleKind = "order"    // another balancer has to let the master go first
	ObstacleBudget   ObstacleKind = "budget"   // as many masters are out as may be, or this one still has a slot
	ObstacleBalancer ObstacleKind = "balancer" // a balancer still sends agents, or does not yet, or has not asked
	ObstacleAgent    ObstacleKind = "agent"    // requests are under way, or a connection may carry another
	ObstacleUnknown  ObstacleKind = "unknown"  // the daemon, the kernel or the count of the JRubies does not tell
	ObstacleAnswer   ObstacleKind = "answer"   // balancers are not told what they should be
	ObstacleGate     ObstacleKind = "gate"     // the gate is open and should not be, or closed
)

// Obstacle is one thing between a master and what is wanted of it: while it is held, to leave and be
// idle; while it is ready, to be in service.
type Obstacle struct {
	Kind ObstacleKind `json:"kind"`
	Text string       `json:"text"` // on one line
}

// NewObstacle returns an obstacle with its text.
func NewObstacle(kind ObstacleKind, format string, args ...any) Obstacle {
	return Obstacle{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Texts returns the texts of the first obstacles and, if there are more than most, how many more.
func Texts(obstacles []Obstacle, most int) (texts []string) {
	for _, o := range obstacles {
		texts = append(texts, o.Text)
	}
	return text.First(texts, most)
}

// Summary returns the texts of the first few obstacles on one line.
func Summary(obstacles []Obstacle) string { return strings.Join(Texts(obstacles, 4), "; ") }
