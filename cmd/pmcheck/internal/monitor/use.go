package monitor

import (
	"math"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/drain/tcp"
)

// use remembers whether agents have used the master. It is safe for concurrent use.
type use struct {
	mu    sync.Mutex
	going bool      // the last look found the master in use
	ended time.Time // the first look that found it no longer in use
}

// over takes in a look, and reports whether nobody has used the master since a time. An agent that
// the look before found may have been there until now.
func (u *use) over(used bool, since, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.going && !used {
		u.ended = now
	}
	u.going = used
	return !used && u.ended.Before(since)
}

// unused reports whether all is calm, and nobody has used the master at address since a time: the
// kernel knows of no connection to it but the daemon's own.
func (m *Monitor) unused(address string, since time.Time) bool {
	used := true
	if m.signals.calm.Load() {
		list, err := tcp.Connections(address)
		used = err != nil || len(tcp.InUse(list, m.State().Own, math.MaxInt64)) > 0
	}
	return m.use.over(used, since, time.Now())
}
