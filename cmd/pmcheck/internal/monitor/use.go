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

// lent reports whether JRubies are lent, or were since the last pool. That shows agents without a
// look at the connections, which may be many, and those that connect to another network
// namespace, such as that of a container.
func (u *use) lent(p *check.Pool) bool {
	if p == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.borrows
	u.borrows = p.Borrows
	return len(p.Borrowed) > 0 || p.Borrows != before
}

// over takes in a look, and reports whether the master has been idle since a time. An agent that
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

// idle reports whether all is calm, and no agent has used the master at address since a finding.
func (m *Monitor) idle(address string, since check.Finding) bool {
	used := !m.signals.calm.Load() || m.use.lent(since.Pool)
	if !used {
		list, err := tcp.Connections(address)
		used = err != nil || len(tcp.InUse(list, m.State().Own, math.MaxInt64)) > 0
	}
	return m.use.over(used, since.Checked, time.Now())
}
