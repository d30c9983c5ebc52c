package api

import (
	"fmt"
	"strings"
)

// ObstacleKind says what an Obstacle is.
type ObstacleKind string

// The kinds of obstacles.
const (
	ObstacleUnseen     ObstacleKind = "unseen"      // a balancer has not asked since
	ObstacleSending    ObstacleKind = "sending"     // a balancer still sends agents
	ObstacleUntold     ObstacleKind = "untold"      // a balancer has not heard it often enough
	ObstacleNotSending ObstacleKind = "not-sending" // a balancer does not send agents yet
	ObstacleRequest    ObstacleKind = "request"     // a request is under way
	ObstacleWaiting    ObstacleKind = "waiting"     // requests wait for a JRuby
	ObstacleUncounted  ObstacleKind = "uncounted"   // the JRubies have not been counted since
	ObstacleConnection ObstacleKind = "connection"  // a connection may carry another request
	ObstacleUnknown    ObstacleKind = "unknown"     // it cannot be found out
	ObstacleAnswer     ObstacleKind = "answer"      // balancers are told something else than 200
	ObstacleHeld       ObstacleKind = "held"        // a holder holds the service
	ObstacleLast       ObstacleKind = "last"        // a balancer has no other server
	ObstacleTurn       ObstacleKind = "turn"        // another server is expected back
)

// Obstacle is one thing between a service and what its operators want: while it
// is held, to be idle; while it is ready, to be in service.
type Obstacle struct {
	Kind ObstacleKind `json:"kind"`
	// Concerns names the balancer, the request, the client or the holders.
	Concerns string `json:"concerns,omitempty"`
	// Count is a number of requests, connections or answers.
	Count int `json:"count,omitempty"`
	// Seconds is for how long it has lasted.
	Seconds float64 `json:"seconds,omitempty"`
	// Text says all of it on one line.
	Text string `json:"text"`
}

// Summary puts the first few of some obstacles on one line.
func Summary(obstacles []Obstacle) string {
	const most = 4
	var texts []string
	for i, o := range obstacles {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(obstacles)-most))
			break
		}
		texts = append(texts, o.Text)
	}
	return strings.Join(texts, "; ")
}
