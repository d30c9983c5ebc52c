package haproxy

import (
	"context"
	"sync"
	"time"
)

// Live is a backend that checks its servers as time passes, each in a goroutine of its own.
type Live struct {
	Backend

	mu      sync.Mutex
	none    time.Time     // since when it uses no server
	noneFor time.Duration // the longest such time
	mostOut int           // the most servers that it has missed at once
}

// Run checks a server of a backend that was started, until ctx ends.
func (l *Live) Run(ctx context.Context, s *Server) {
	next := s.Phase
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		header := l.header(s)
		time.Sleep(l.RoundTrip / 2)
		code := s.Check(header)
		time.Sleep(l.RoundTrip - l.RoundTrip/2)
		next = l.answered(s, code)
	}
}

func (l *Live) header(s *Server) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Header(s, time.Now())
}

// answered takes the result of a check into account, and returns the pause until the next one.
func (l *Live) answered(s *Server, code int) (pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Answered(s, code, time.Now())
	l.note()
	return l.Pause(s)
}

// note takes into account which servers are used. The caller must hold the lock.
func (l *Live) note() {
	used := len(l.Used())
	if !l.none.IsZero() {
		l.noneFor = max(l.noneFor, time.Since(l.none))
	}
	switch {
	case used > 0:
		l.none = time.Time{}
	case l.none.IsZero():
		l.none = time.Now()
	}
	l.mostOut = max(l.mostOut, len(l.Servers)-used)
}

// Outage returns the longest time without a server and the most servers that were out at once, since its last call.
func (l *Live) Outage() (none time.Duration, out int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note()
	none, out, l.noneFor, l.mostOut = l.noneFor, l.mostOut, 0, 0
	return none, out
}

// State returns what is concluded of a server.
func (l *Live) State(s *Server) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.State()
}
