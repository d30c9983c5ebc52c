package monitor

import (
	"math"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// use remembers whether agents have used the master. It is safe for concurrent use.
type use struct {
	mu      sync.Mutex
	going   bool      // the last look found the master in use
	ended   time.Time // the first look that found it no longer in use
	borrows int64     // how many loans of a JRuby the last pool had counted
}

// over takes in a look at the connections, and reports whether the master has been idle since a
// finding. An agent that the look before found may have been there until now. Loans
// show agents that connect to another network namespace, such as that of a container.
func (u *use) over(connected bool, since check.Finding, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	used := connected
	if p := since.Pool; p != nil {
		used = used || len(p.Borrowed) > 0 || p.Borrows != u.borrows
		u.borrows = p.Borrows
	}
	if u.going && !used {
		u.ended = now
	}
	u.going = used
	return !used && u.ended.Before(since.Checked)
}

// idle reports whether all is calm, and no agent has used the master at address since a finding.
func (m *Monitor) idle(address string, since check.Finding) bool {
	connected := true
	if m.signals.calm.Load() {
		list, err := tcp.Connections(address)
		connected = err != nil || len(tcp.InUse(list, m.State().Own, math.MaxInt64)) > 0
	}
	return m.use.over(connected, since, time.Now())
}
