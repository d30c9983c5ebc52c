package balancer

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// shiftMost is how long an answer waits at most, so that checks which run in step are pulled apart.
const shiftMost = 250 * time.Millisecond

// Bounds on how many balancers are remembered. A client chooses its own name, so the
// number for one address is bounded too.
const (
	maxBalancers = 256
	maxPerSource = 16
)

// Tracker remembers the balancers that ask. It is safe for concurrent use; its zero value is ready.
type Tracker struct {
	mu   sync.Mutex
	list []*Balancer // in the order of their first checks
}

// key tells balancers apart. Only a balancer with a view names itself. Those without one
// that share an address are told apart by the codes that they chose.
type key struct {
	source     netip.Addr
	node, name string
	service    drain.Service
	codes      answer.Codes // of a balancer without a name
}

func (b *Balancer) key() key {
	k := key{source: b.Source, node: b.Node, name: b.Name, service: b.Service}
	if k.name == "" && k.node == "" {
		k.codes = b.Codes
	}
	return k
}

// Answer records a check and returns its answer, which decide makes: spare says that the balancer may
// lose the master, or has no say in that.
//
// The first time in a row that a balancer may lose the master, it gets the verdict once more, and the
// caller must wait for a random part of shift before it sends that: checks of two servers drift until they
// run in step, and of two checks under way together neither shows what the other is told.
func (t *Tracker) Answer(c Check, r Rule, decide func(spare bool) answer.Answer) (
	a answer.Answer, shift time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.note(c, r.now)
	if b == nil { // there is no room: the master stays in
		return decide(c.View == "" || r.leaving == drain.Firm), 0
	}
	spare, lets := true, false
	if r.asks(b) {
		_, keeps := r.keeps(b, t.all().Current(r.now))
		spare, lets = !keeps, !keeps
		if lets && b.View.Sends() && !b.letOff {
			spare, shift = false, b.shift()
		}
	}
	b.letOff, b.fitted = lets, b.fits(r.maxOut, r.now)
	a = decide(spare)
	if b.Answer.Code != a.Code {
		b.Answers = 0
	}
	b.Answer = a
	b.Answers++
	return a, shift
}

// shift returns how far a check of the balancer is shifted at most: a quarter of its interval, 250 ms at most.
func (b *Balancer) shift() time.Duration {
	return min(time.Duration(b.Interval*float64(time.Second))/4, shiftMost)
}

// note takes a check into account, and returns the balancer, or nil if there is no room for a new one.
func (t *Tracker) note(c Check, now time.Time) *Balancer {
	asks := Balancer{
		Source:  c.Source,
		Service: c.Service,
		Codes:   c.Codes,
		Listed:  c.Listed,
	}
	view := parseView(c.View)
	if view != nil {
		asks.Node, asks.Name = view.node, view.name
	}
	b := t.admit(asks, now)
	if b == nil {
		return nil
	}
	gap := max(0, now.Sub(b.Seen))    // a daemon before may have had a clock that was ahead
	seldom := c.Listed || view != nil // may ask so rarely that it seems gone after its first check
	if b.Checks > 1 && b.gone(now) || !seldom && gap > slowest {
		b.Checks, b.Interval = 0, 0 // that gap says nothing of how often it asks
	}
	switch { // a moving average
	case b.Checks == 1:
		b.Interval = gap.Seconds()
	case b.Checks > 1:
		b.Interval += (gap.Seconds() - b.Interval) / 4
	}
	b.Interval = min(b.Interval, longestInterval.Seconds())
	before := b.View
	b.Seen, b.View, b.Listed, b.Codes = now, view, c.Listed, c.Codes
	b.Asks = text.Printable(c.URI, maxName)
	if view != nil {
		b.observe(before, view, now)
	}
	b.Checks++
	return b
}

// admit returns the entry of a balancer, which it adds if there is none, or nil if there is no room. A client
// with maxPerSource entries that is not listed loses its oldest one. A full list loses the oldest that has stopped
// asking or does not count, or one of the network that has the most: however many names a client takes, it keeps no
// balancer out.
func (t *Tracker) admit(b Balancer, now time.Time) *Balancer {
	if at := slices.IndexFunc(t.list, func(known *Balancer) bool { return known.key() == b.key() }); at >= 0 {
		return t.list[at]
	}

	shares := map[netip.Prefix]int{} // of networks that are not listed
	for _, other := range t.list {
		if !other.Listed {
			shares[network(other.Source)]++
		}
	}
	of := func(n netip.Prefix) func(*Balancer) bool {
		return func(other *Balancer) bool { return !other.Listed && network(other.Source) == n }
	}
	own := network(b.Source)
	if shares[own] >= maxPerSource && !b.Listed {
		t.forgetOldest(of(own))
	}
	if len(t.list) >= maxBalancers {
		t.forgetOldest(func(b *Balancer) bool { return b.gone(now) || !b.Counts() })
	}
	if len(t.list) >= maxBalancers {
		if most := largest(shares); shares[most] > shares[own]+1 {
			t.forgetOldest(of(most))
		}
	}
	if len(t.list) >= maxBalancers {
		return nil
	}
	t.list = append(t.list, &b)
	return &b
}

// largest returns the network with the most entries.
func largest(shares map[netip.Prefix]int) (most netip.Prefix) {
	for n, share := range shares {
		if share > shares[most] {
			most = n
		}
	}
	return most
}

// Restore adds what All returned in an earlier process. It does not replace
// entries of this process.
func (t *Tracker) Restore(list List, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range list {
		if b.Seen.After(now) { // the clock was set back
			b.Seen = now
		}
		b.Interval = min(b.Interval, longestInterval.Seconds())
		if b.OthersSeen.After(now) {
			b.OthersSeen = now
		}
		t.admit(b, now)
	}
}

// network returns the network of which one client may have all addresses: the /64 of an IPv6
// address, or the IPv4 address alone.
func network(source netip.Addr) netip.Prefix {
	n, _ := source.Prefix(min(64, source.BitLen())) // the zero Prefix for an invalid address
	return n
}

func (t *Tracker) forgetOldest(of func(*Balancer) bool) {
	var oldest *Balancer
	for _, b := range t.list {
		if of(b) && (oldest == nil || b.Seen.Before(oldest.Seen)) {
			oldest = b
		}
	}
	t.list = slices.DeleteFunc(t.list, func(b *Balancer) bool { return b == oldest })
}

// All returns the balancers that ask, and those that no longer do, in a stable order. A slow one may ask again, and
// its interval can be measured only if the time of its last check is still known.
func (t *Tracker) All() List {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all()
}

func (t *Tracker) all() List {
	list := make(List, 0, len(t.list))
	for _, b := range t.list {
		list = append(list, *b)
	}
	list.sort()
	return list
}

// Believe lists the balancers in the networks of the setting balancers, and forgets the others. Without the setting,
// every client is believed, and none is listed.
func (t *Tracker) Believe(networks []netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	listed := len(networks) > 0
	t.list = slices.DeleteFunc(t.list, func(b *Balancer) bool {
		return listed && !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(b.Source) })
	})
	for _, b := range t.list {
		b.Listed = listed
	}
}
