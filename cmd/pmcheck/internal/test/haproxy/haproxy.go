// Package haproxy is a model of HAProxy's health checks: when it asks each server, what its header says
// meanwhile, and which servers it uses. The recorded headers of real releases check it.
//
// Backend is a state machine that knows no clock. Live runs one.
package haproxy

import (
	"cmp"
	"fmt"
	"net/http"
	"time"
)

// Settings are those of a backend's servers, as in HAProxy's configuration.
type Settings struct {
	Inter     time.Duration
	FastInter time.Duration // while a server is between UP and DOWN, and before its first check; 0: Inter
	DownInter time.Duration // while a server is DOWN and not on its way up; 0: Inter
	Fall      int
	Rise      int
	Slowstart time.Duration
	// DisableOn404 is "http-check disable-on-404": such a server is NOLB.
	DisableOn404 bool
	// Timeout is "timeout check", after which a check has failed; 0: Inter. Live waits for every answer.
	Timeout time.Duration
	// RoundTrip is how long a check takes beside the server's own time.
	RoundTrip time.Duration
}

// State is what HAProxy has concluded of a server.
type State string

// The states.
const (
	Up   State = "UP"
	Down State = "DOWN"
	NoLB State = "NOLB"
)

// Server is one server of a backend.
type Server struct {
	Name   string
	Weight int
	Backup bool
	// Check asks the server: the value of the header in, the status code out; 0 if it does not answer.
	Check func(header string) (code int)
	// Phase is how long after the start the first check is made.
	Phase time.Duration

	state  State
	health int // from 0 to Rise+Fall-1; UP from Rise on
	since  time.Time
	ramps  bool // it came up again since, and slowstart counts
}

// State returns what is concluded of the server.
func (s *Server) State() State { return s.state }

// Backend is a pool of servers of one HAProxy.
type Backend struct {
	Settings
	Node    string
	Name    string
	Servers []*Server
}

// Start sets all servers to the state that HAProxy gives them at its start: UP, and one failure from DOWN.
func (b *Backend) Start(now time.Time) {
	for _, s := range b.Servers {
		s.state, s.health, s.since, s.ramps = Up, b.Rise, now, false
	}
}

// Answered takes the result of a check into account.
func (b *Backend) Answered(s *Server, code int, now time.Time) {
	before, best := s.state, b.Rise+b.Fall-1
	switch {
	case code >= 200 && code < 400:
		if s.health++; s.health >= b.Rise {
			s.health, s.state = best, Up
		}
	case code == http.StatusNotFound && b.DisableOn404:
		if s.health = 0; s.state != Down {
			s.health, s.state = best, NoLB
		}
	case s.health > b.Rise:
		s.health--
	default:
		s.health, s.state = 0, Down
	}
	if s.state != before {
		s.since, s.ramps = now, s.state == Up
	}
}

// Pause returns how long HAProxy waits for the next check of a server, as its srv_getinter. A server that is NOLB
// has full health.
func (b *Backend) Pause(s *Server) time.Duration {
	pause := b.FastInter
	switch s.health {
	case b.Rise + b.Fall - 1:
		pause = b.Inter
	case 0:
		pause = b.DownInter
	}
	return cmp.Or(pause, b.Inter)
}

// Used returns the servers that get new sessions.
func (b *Backend) Used() (used []*Server) {
	for _, backup := range []bool{false, true} {
		for _, s := range b.Servers {
			if s.Backup == backup && s.state == Up && (!backup || len(used) == 0) { // no allbackups
				used = append(used, s)
			}
		}
		if len(used) > 0 {
			break
		}
	}
	return used
}

// Header returns the value of X-Haproxy-Server-State in a check of a server.
func (b *Backend) Header(s *Server, now time.Time) string {
	state := string(s.state)
	switch {
	case s.state == Down && s.health > 0:
		state += fmt.Sprintf(" %d/%d", s.health, b.Rise)
	case s.state != Down && s.health < b.Rise+b.Fall-1:
		state += fmt.Sprintf(" %d/%d", s.health-b.Rise+1, b.Fall)
	}
	total := 0
	for _, u := range b.Used() {
		total += b.sixteenths(u, now)
	}
	header := fmt.Sprintf("%s; address=192.0.2.1; port=8140; name=%s/%s; node=%s; weight=%d/%d; scur=0/0; qcur=0",
		state, b.Name, s.Name, b.Node, up(b.sixteenths(s, now)), up(total))
	if b.throttles(s, now) {
		header += fmt.Sprintf("; throttle=%d%%", max(1, 100*now.Sub(s.since)/b.Slowstart))
	}
	return header
}

// throttles reports whether a server gets its weight gradually.
func (b *Backend) throttles(s *Server, now time.Time) bool {
	return s.ramps && s.state == Up && now.Sub(s.since) < b.Slowstart
}

// sixteenths returns the effective weight of a server, of which HAProxy counts sixteenths.
func (b *Backend) sixteenths(s *Server, now time.Time) int {
	part := 16
	if b.throttles(s, now) {
		part = min(16, int(16*now.Sub(s.since)/b.Slowstart)+1)
	}
	return s.Weight * part
}

func up(sixteenths int) int { return (sixteenths + 15) / 16 }
