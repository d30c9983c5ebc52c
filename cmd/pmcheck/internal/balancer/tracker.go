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

// Bounds on how many balancers are remembered. A client chooses its own name, so the number for one address is bounded
// too, and a client that has an IPv6 /64 chooses its address. Several HAProxies share such a network.
const (
	maxBalancers  = 256
	maxPerAddress = 16
	maxPerNetwork = 64
)

// Tracker remembers the balancers that ask. It is safe for concurrent use; its zero value is ready.
type Tracker struct {
	mu     sync.Mutex
	list   []*Balancer // sorted by inOrder
	unseen time.Time   // until when a client may ask that is not in the list
}

// key tells balancers apart. Only a balancer with a view names itself. Those without one
// that share an address are told apart by the codes that they chose.
type key struct {
	source     netip.Addr
	node, name string
	service    drain.Service
	codes      answer.Codes // of a balancer without a name
	unreadable bool
}

func (b *Balancer) key() key {
	k := key{
		source:     b.Source,
		node:       b.Node,
		name:       b.Name,
		service:    b.Service,
		unreadable: b.Unreadable,
	}
	if k.name == "" && k.node == "" {
		k.codes = b.Codes.Filled()
	}
	return k
}

// Answer records a check and returns its answer, which decide makes: follows says that the rule has the balancer follow
// the hold. Before the answer is sent, the caller must wait for a random part of shift: so checks that run in step are
// pulled apart while the rule keeps the master once more.
func (t *Tracker) Answer(c Check, r Rule, decide func(follows bool) answer.Answer) (
	a answer.Answer, shift time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()

	b := t.note(c, r.now)
	r.unseen = r.now.Before(t.unseen)
	if b == nil { // there is no room: nothing is known of the balancer's view before
		return decide(r.decideUnknown(c.Header) == Follow), 0
	}

	decision := r.decide(b, t.copies().Current(r.now))
	if decision == KeepOnce {
		shift = b.shift()
	}
	b.letOff = r.hasSay(b) && decision != Keep
	b.fitted = r.canDoWithout(b)

	a = decide(decision == Follow)
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
	view := parseView(c.Header)
	sendsView := c.Header != ""
	if view != nil {
		asks.Node = view.node
		asks.Name = view.name
	}
	asks.Unreadable = sendsView && view == nil
	b := t.admit(asks, now)
	if b == nil {
		return nil
	}

	mayBeSlow := c.Listed || sendsView
	wasUp := b.Sends(now)
	gap := now.Sub(b.Seen)
	b.measure(mayBeSlow, now)
	b.Checks++
	b.Seen = now
	b.Asks = text.Printable(c.URI, maxText)
	b.Codes = c.Codes
	b.Listed = c.Listed

	before := b.View
	b.View = view
	if view != nil {
		b.tellApart(before, view, gap, now)
		b.observe(before, view, wasUp, now)
	}
	return b
}

// admit returns the entry of a balancer, which it adds if there is none, or nil if there is no room.
func (t *Tracker) admit(b Balancer, now time.Time) *Balancer {
	at := slices.IndexFunc(t.list, func(known *Balancer) bool { return known.key() == b.key() })
	if at >= 0 {
		return t.list[at]
	}

	if !t.makeRoom(b, now) {
		b.Seen = now
		t.overlook(&b)
		return nil
	}
	t.list = append(t.list, &b)
	slices.SortStableFunc(t.list, inOrder)
	return &b
}

// makeRoom reports whether there is room for a new balancer, and forgets others for its sake. Listed balancers have no
// bound of their own, and are forgotten last.
func (t *Tracker) makeRoom(b Balancer, now time.Time) bool {
	if b.Listed {
		return t.makeRoomInAll(b, now)
	}

	own := Network(b.Source)
	sharesAddress := func(o *Balancer) bool { return !o.Listed && o.Source == b.Source }
	sharesNetwork := func(o *Balancer) bool { return !o.Listed && Network(o.Source) == own }
	return t.makeRoomAmong(sharesAddress, maxPerAddress, now) &&
		t.makeRoomAmong(sharesNetwork, maxPerNetwork, now) &&
		t.makeRoomInAll(b, now)
}

// makeRoomAmong reports whether there is room among these clients, of which the tracker remembers no more than most,
// and forgets a client for its sake. A balancer that still asks keeps its place.
func (t *Tracker) makeRoomAmong(these func(*Balancer) bool, most int, now time.Time) bool {
	n := 0
	for _, b := range t.list {
		if these(b) {
			n++
		}
	}
	return n < most || t.forgetOneOf(these, now)
}

// makeRoomInAll makes room in a full list: a client that has stopped asking or does not count goes, or else an entry of
// the network that has the most. However many names a client takes, it keeps no balancer out.
func (t *Tracker) makeRoomInAll(b Balancer, now time.Time) bool {
	if len(t.list) < maxBalancers {
		return true
	}

	listed := func(o *Balancer) bool { return o.Listed }
	unlisted := func(o *Balancer) bool { return !o.Listed }
	if t.forgetOneOf(unlisted, now) || t.forgetOneOf(listed, now) {
		return true
	}

	shares := map[netip.Prefix]int{} // of networks that are not listed
	for _, o := range t.list {
		if !o.Listed {
			shares[Network(o.Source)]++
		}
	}
	most := largest(shares)
	isFairer := b.Listed || shares[most] > shares[Network(b.Source)]+1
	ofMost := func(o *Balancer) bool { return !o.Listed && Network(o.Source) == most }
	return isFairer && t.forgetOldest(ofMost)
}

// forgetOneOf forgets a client among these that has stopped asking or, if all still ask, a client that does not count.
// It reports whether there was such a client.
func (t *Tracker) forgetOneOf(these func(*Balancer) bool, now time.Time) bool {
	return t.forgetOldest(func(b *Balancer) bool { return these(b) && b.gone(now) }) ||
		t.forgetOldest(func(b *Balancer) bool { return these(b) && !b.Counts() })
}

func (t *Tracker) forgetOldest(of func(*Balancer) bool) bool {
	var oldest *Balancer
	for _, b := range t.list {
		if of(b) && (oldest == nil || b.Seen.Before(oldest.Seen)) {
			oldest = b
		}
	}
	if oldest == nil {
		return false
	}

	t.overlook(oldest)
	t.list = slices.DeleteFunc(t.list, func(b *Balancer) bool { return b == oldest })
	return true
}

// overlook notes that a client is not remembered. Until it would be gone, nothing is known of it: it may be a balancer
// that has the master in.
func (t *Tracker) overlook(b *Balancer) {
	if until := b.goneAt(); until.After(t.unseen) {
		t.unseen = until
	}
}

// Unseen returns until when a balancer may ask that is not remembered.
func (t *Tracker) Unseen() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unseen
}

// RestoreUnseen takes over what Unseen of another Tracker has returned. If the clock was set back, that is no longer
// than a balancer may be silent.
func (t *Tracker) RestoreUnseen(until, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if latest := now.Add(3 * longestInterval); until.After(latest) {
		until = latest
	}
	if until.After(t.unseen) {
		t.unseen = until
	}
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
		for _, moment := range []*time.Time{&b.Seen, &b.OthersSeen, &b.UpSeen, &b.Twins} {
			if moment.After(now) { // the clock was set back
				*moment = now
			}
		}
		b.Interval = min(b.Interval, longestInterval.Seconds())
		b.DownInterval = min(b.DownInterval, longestInterval.Seconds())
		b.weighed = now // a server may be in the middle of its slowstart
		t.admit(b, now)
	}
}

// Network returns the network whose addresses may all belong to one client: the /64 of an IPv6
// address, or the IPv4 address alone.
func Network(source netip.Addr) netip.Prefix {
	n, _ := source.Prefix(min(64, source.BitLen())) // the zero Prefix for an invalid address
	return n
}

// All returns the balancers that ask, and the balancers that no longer do, in a stable order. A slow balancer may ask
// again, and its interval can be measured only if the time of its last check is still known.
func (t *Tracker) All() List {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.copies()
}

func (t *Tracker) copies() List {
	list := make(List, 0, len(t.list))
	for _, b := range t.list {
		list = append(list, *b)
	}
	return list
}

// Forget forgets every balancer.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = nil
}

// Believe lists the balancers in the networks of the setting balancers, and forgets the others. Without the setting,
// every client is believed, and none is listed.
func (t *Tracker) Believe(networks []netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()

	listed := len(networks) > 0
	var believed []*Balancer
	for _, b := range t.list {
		contains := func(n netip.Prefix) bool { return n.Contains(b.Source) }
		if listed && !slices.ContainsFunc(networks, contains) {
			continue
		}
		b.Listed = listed
		believed = append(believed, b)
	}
	t.list = believed
}
