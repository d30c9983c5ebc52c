package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Refused are connections that were closed instead of answered, since the daemon started.
type Refused struct {
	Allow int64 `json:"allow"` // from an address that is not in the setting allow
	Limit int64 `json:"limit"` // the oldest of the address with the most, when there were too many
	// From are the addresses that this happened to within the last hour.
	From []Refusal `json:"from,omitempty"`
}

// Refusal is what happened to the connections from one address.
type Refusal struct {
	Source netip.Addr `json:"source"`
	Limit  bool       `json:"limit,omitempty"` // by the limit, not by allow
	Count  int64      `json:"count"`
	Since  time.Time  `json:"since"`
	Last   time.Time  `json:"last"`
}

func (r Refusal) String() string {
	why := "it is not in allow"
	if r.Limit {
		why = "it had the most connections"
	}
	return fmt.Sprintf("%s was refused since %s, %d×: %s", r.Source, r.Since.Local().Format(time.DateTime), r.Count, why)
}

// maxRefusals is how many addresses are remembered, and refusedFor for how long.
const (
	maxRefusals = 32
	refusedFor  = time.Hour
)

// Refusals counts connections that are refused. It is safe for concurrent use; its zero value is ready.
type Refusals struct {
	mu    sync.Mutex
	known Refused
}

// Note counts a connection from source that was refused, by the limit or by allow.
func (r *Refusals) Note(source netip.Addr, limit bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit {
		r.known.Limit++
	} else {
		r.known.Allow++
	}
	from := r.known.From
	at := slices.IndexFunc(from, func(f Refusal) bool { return f.Source == source && f.Limit == limit })
	if at < 0 {
		if len(from) == maxRefusals {
			oldest := slices.MinFunc(from, func(a, b Refusal) int { return a.Last.Compare(b.Last) })
			from = slices.DeleteFunc(from, func(f Refusal) bool { return f == oldest })
		}
		at, from = len(from), append(from, Refusal{Source: source, Limit: limit, Since: now})
	}
	from[at].Count++
	from[at].Last = now
	r.known.From = from
}

// At returns what is known at now, the address with the most connections first.
func (r *Refusals) At(now time.Time) Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.From = slices.DeleteFunc(r.known.From, func(f Refusal) bool { return now.Sub(f.Last) >= refusedFor })
	known := r.known
	known.From = slices.SortedStableFunc(slices.Values(known.From), func(a, b Refusal) int {
		return cmp.Compare(b.Count, a.Count)
	})
	return known
}
