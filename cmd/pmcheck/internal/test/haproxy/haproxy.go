// Package haproxy is a model of HAProxy's health checks: when it asks each server, what its header says
// meanwhile, and which servers it uses. The recorded headers of real releases check it.
package haproxy

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Settings are those of a backend's servers, as in HAProxy's configuration.
type Settings struct {
	Inter     time.Duration
	DownInter time.Duration // while a server is DOWN and not on its way up; 0: Inter
	Fall      int
	Rise      int
	Slowstart time.Duration
	// DisableOn404 is "http-check disable-on-404": such a server is NOLB.
	DisableOn404 bool
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

// Backend is a pool of servers of one HAProxy.
type Backend struct {
	Settings
	Node    string
	Name    string
	Servers []*Server

	mu      sync.Mutex
	none    time.Time     // since when it uses no server
	noneFor time.Duration // the longest such time
	mostOut int           // the most servers that it has missed at once
}

// Start sets all servers to the state that HAProxy gives them at its start: UP, and one failure from DOWN.
func (b *Backend) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.Servers {
		s.state, s.health, s.since = Up, b.Rise, time.Now()
	}
}

// Run checks a server until ctx ends.
func (b *Backend) Run(ctx context.Context, s *Server) {
	next := s.Phase
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		header := b.Header(s)
		time.Sleep(b.RoundTrip / 2)
		code := s.Check(header)
		time.Sleep(b.RoundTrip - b.RoundTrip/2)
		next = b.Inter
		if b.Answered(s, code) && b.DownInter > 0 {
			next = b.DownInter
		}
	}
}

// Answered takes the result of a check into account, and reports whether the server is DOWN and not on its way up.
func (b *Backend) Answered(s *Server, code int) (down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
		s.since, s.ramps = time.Now(), s.state == Up
		b.note()
	}
	return s.health == 0
}

// note takes into account which servers are used. The caller must hold the lock.
func (b *Backend) note() {
	used := len(b.used())
	if !b.none.IsZero() {
		b.noneFor = max(b.noneFor, time.Since(b.none))
	}
	switch {
	case used > 0:
		b.none = time.Time{}
	case b.none.IsZero():
		b.none = time.Now()
	}
	b.mostOut = max(b.mostOut, len(b.Servers)-used)
}

// Outage returns the longest time without a server and the most servers that were out at once, since its last call.
func (b *Backend) Outage() (none time.Duration, out int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note()
	none, out, b.noneFor, b.mostOut = b.noneFor, b.mostOut, 0, 0
	return none, out
}

// State returns what is concluded of a server.
func (b *Backend) State(s *Server) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.state
}

// used returns the servers that get new sessions. The caller must hold the lock.
func (b *Backend) used() (used []*Server) {
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
func (b *Backend) Header(s *Server) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := string(s.state)
	switch {
	case s.state == Down && s.health > 0:
		state += fmt.Sprintf(" %d/%d", s.health, b.Rise)
	case s.state != Down && s.health < b.Rise+b.Fall-1:
		state += fmt.Sprintf(" %d/%d", s.health-b.Rise+1, b.Fall)
	}
	total := 0
	for _, u := range b.used() {
		total += b.sixteenths(u)
	}
	return fmt.Sprintf("%s; address=192.0.2.1; port=8140; name=%s/%s; node=%s; weight=%d/%d; scur=0/0; qcur=0",
		state, b.Name, s.Name, b.Node, up(b.sixteenths(s)), up(total))
}

// sixteenths returns the effective weight of a server, of which HAProxy counts sixteenths.
func (b *Backend) sixteenths(s *Server) int {
	part := 16
	if age := time.Since(s.since); s.ramps && s.state == Up && age < b.Slowstart {
		part = min(16, int(16*age/b.Slowstart)+1)
	}
	return s.Weight * part
}

func up(sixteenths int) int { return (sixteenths + 15) / 16 }
