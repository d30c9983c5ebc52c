package balancer

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Bounds on how many balancers are remembered. A client chooses its own name, so the
// number for one address is bounded too.
const (
	maxBalancers = 256
	maxPerSource = 16
)

// Tracker remembers the balancers that ask. It is safe for concurrent use. The
// zero value is not ready: use NewTracker.
type Tracker struct {
	changed func()

	mu    sync.Mutex
	list  map[key]*Balancer
	asked time.Time // when one that counts asked last, in the list or not
}

// key tells balancers apart. Only a balancer with a view names itself. Those without one
// that share an address are told apart by the codes that they chose.
type key struct {
	source              netip.Addr
	node, name, service string
	drain, maint        int // the codes of a balancer without a name
}

// withCodes returns the key with the codes of a balancer, unless it has a name.
func (k key) withCodes(drain, maint int) key {
	if k.name == "" && k.node == "" {
		k.drain, k.maint = drain, maint
	}
	return k
}

// NewTracker returns an empty tracker. It calls changed when a balancer appears, gets
// another answer, or changes its view. changed must not block, and must not call the
// tracker.
func NewTracker(changed func()) *Tracker {
	return &Tracker{changed: changed, list: map[key]*Balancer{}}
}

// Record records a check and its answer.
func (t *Tracker) Record(source netip.Addr, q Question, answer Told, now time.Time) {
	var view *View
	k := key{source: source, service: q.Service}
	if q.View != "" {
		if v, ok := parseView(q.View); ok {
			view, k.node, k.name = v, v.node, v.name
		}
	}
	k = k.withCodes(q.DrainCode, q.MaintCode)
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.list[k]
	if b == nil {
		if b = t.admit(k, now); b == nil {
			return
		}
	}
	seldom := q.Listed || view != nil // may ask so rarely that it seems gone after its first check
	if (b.Checks > 1 || !seldom) && b.gone(now) {
		b.Checks, b.Interval = 0, 0 // it was away: that gap says nothing of how often it asks
	}
	if b.Checks > 0 {
		b.Interval = smooth(b.Interval, now.Sub(b.Seen).Seconds(), b.Checks)
	}
	if b.Answer.Code != answer.Code {
		b.Answers = 0
	}
	before := b.View
	news := b.Answers < TellTimes || !before.same(view)
	b.Seen, b.View, b.Answer = now, view, answer
	b.DrainCode, b.MaintCode = q.DrainCode, q.MaintCode
	if b.Listed = q.Listed; view != nil {
		b.observe(before, view, now)
	}
	b.Checks++
	b.Answers++
	t.noteAsked(b)
	if news {
		t.changed()
	}
}

func (t *Tracker) noteAsked(b *Balancer) {
	if b.Counts() && b.Seen.After(t.asked) {
		t.asked = b.Seen
	}
}

// smooth returns the moving average with the latest of n values. The first value
// counts in full, each later one a quarter.
func smooth(average, latest float64, n int64) float64 {
	if n == 1 {
		return latest
	}
	return average + (latest-average)/4
}

// admit adds an entry for a new balancer, or returns nil if there is no room. An address
// with maxPerSource entries loses its oldest one. If the list is full, the network with
// the most entries loses its oldest one.
func (t *Tracker) admit(k key, now time.Time) *Balancer {
	share := 0
	for other := range t.list {
		if other.source == k.source {
			share++
		}
	}
	if share >= maxPerSource {
		t.forgetOldest(func(source netip.Addr) bool { return source == k.source })
	}
	if len(t.list) >= maxBalancers {
		maps.DeleteFunc(t.list, func(_ key, b *Balancer) bool { return b.gone(now) })
	}
	if len(t.list) >= maxBalancers && !t.forgetCrowd(k.source) {
		return nil
	}
	b := &Balancer{Source: k.source, Node: k.node, Name: k.name, Service: k.service}
	t.list[k] = b
	return b
}

// Restore adds the balancers that All returned in an earlier process. It does not replace
// entries of this process.
func (t *Tracker) Restore(list []Balancer, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range list {
		k := key{source: b.Source, node: b.Node, name: b.Name, service: b.Service}
		k = k.withCodes(b.DrainCode, b.MaintCode)
		if b.Seen.After(now) { // the clock was set back
			b.Seen = now
		}
		t.noteAsked(&b)
		if t.list[k] != nil {
			continue
		}
		if room := t.admit(k, now); room != nil {
			*room = b
		}
	}
}

// forgetCrowd forgets the oldest entry of the network with the most entries, if it has
// more than the newcomer's network would have, and reports whether it did.
func (t *Tracker) forgetCrowd(newcomer netip.Addr) bool {
	count := map[netip.Prefix]int{}
	var crowd netip.Prefix
	for k := range t.list {
		n := network(k.source)
		if count[n]++; count[n] > count[crowd] {
			crowd = n
		}
	}
	if count[crowd] <= count[network(newcomer)]+1 {
		return false
	}
	t.forgetOldest(func(source netip.Addr) bool { return network(source) == crowd })
	return true
}

// network returns the network of which one client may have all addresses: the /64 of an IPv6
// address, or the IPv4 address alone.
func network(source netip.Addr) netip.Prefix {
	n, _ := source.Prefix(min(64, source.BitLen())) // the zero Prefix for an invalid address
	return n
}

func (t *Tracker) forgetOldest(of func(source netip.Addr) bool) {
	var oldest key
	for k, b := range t.list {
		if of(k.source) && (!oldest.source.IsValid() || b.Seen.Before(t.list[oldest].Seen)) {
			oldest = k
		}
	}
	delete(t.list, oldest)
}

// Asked returns when a balancer asked last, be it one that no longer asks; zero if none
// ever has. HAProxy does not check a server in MAINT, and keeps its sessions.
func (t *Tracker) Asked() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// Current returns the balancers that still ask, in a stable order. It does not forget
// the others: a slow balancer may ask again, and its interval can be measured only if
// the time of its last check is still known.
func (t *Tracker) Current(now time.Time) []Balancer {
	return slices.DeleteFunc(t.All(), func(b Balancer) bool { return b.gone(now) })
}

// All returns the balancers that Current returns, and those that no longer ask.
func (t *Tracker) All() []Balancer {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Balancer, 0, len(t.list))
	for _, b := range t.list {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(x, y Balancer) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), x.Source.Compare(y.Source),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.Service, y.Service),
			cmp.Compare(x.DrainCode, y.DrainCode), cmp.Compare(x.MaintCode, y.MaintCode))
	})
	return list
}
