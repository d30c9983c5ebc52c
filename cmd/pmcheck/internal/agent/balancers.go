package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Bounds on how many balancers are remembered. A client can name itself as it
// likes, so each address has a share of its own.
const (
	maxBalancers = 256
	maxPerSource = 16
)

// A balancer that has not asked for three of its intervals, and for this long,
// has gone.
const goneAfter = 10 * time.Second

// AgentCheck is the Name of balancers as far as they ask with an agent-check.
const AgentCheck = "agent-check"

// Balancer is one client that asks for a service, and what it makes of us. It
// can delay or refuse a drain; it can neither cause nor lift one.
type Balancer struct {
	Source  netip.Addr `json:"source"`
	Node    string     `json:"node,omitempty"` // HAProxy's name of itself
	Name    string     `json:"name,omitempty"` // HAProxy's name of us, backend/server; or AgentCheck
	Service string     `json:"service"`
	Seen    time.Time  `json:"seen"`   // the last check
	Checks  int64      `json:"checks"` // since it came
	// Interval is the time between its checks, smoothed; 0 with a single one.
	Interval float64 `json:"interval_seconds"`
	// Answer is what it was told last, and Answers how often in a row.
	Answer  Answer `json:"answer"`
	Answers int64  `json:"answers"`
	// View is nil for balancers that do not tell theirs.
	View *View `json:"view,omitempty"`
	// Others is when it last told of another server that it sends agents to;
	// zero if it never did.
	Others time.Time `json:"others,omitzero"`
}

// Label names the balancer for a reader.
func (b *Balancer) Label() string {
	if b.Node != "" {
		return b.Node
	}
	return b.Source.String()
}

// gone reports whether the balancer has stopped asking.
func (b *Balancer) gone(now time.Time) bool {
	silent := now.Sub(b.Seen)
	return silent > goneAfter && silent.Seconds() > 3*b.Interval
}

// balancers remembers who asks. It is safe for concurrent use.
type balancers struct {
	mu   sync.Mutex
	list map[balancerKey]*Balancer
	from map[netip.Addr]int // how many entries an address has
}

type balancerKey struct {
	source              netip.Addr
	node, name, service string
}

func newBalancers() *balancers {
	return &balancers{list: map[balancerKey]*Balancer{}, from: map[netip.Addr]int{}}
}

// record notes a check and its answer. The header is empty if there was none.
func (b *balancers) record(source netip.Addr, service, header string, answer Answer, now time.Time) {
	var view *View
	key := balancerKey{source: source, service: service}
	if header != "" {
		if v, ok := parseView(header); ok {
			view, key.node, key.name = v, v.node, v.name
		}
	}
	b.note(key, view, answer, now)
}

// recordAgent notes an agent-check and its answer. It does not say who asks, so
// all those of one address are one.
func (b *balancers) recordAgent(source netip.Addr, answer Answer, now time.Time) {
	b.note(balancerKey{source: source, service: Server, name: AgentCheck}, nil, answer, now)
}

func (b *balancers) note(key balancerKey, view *View, answer Answer, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.list[key]
	if e == nil {
		if e = b.admit(key, now); e == nil {
			return
		}
	}
	if e.Checks > 0 {
		e.Interval = smooth(e.Interval, now.Sub(e.Seen).Seconds(), e.Checks)
	}
	if e.Answer.Code != answer.Code {
		e.Answers = 0
	}
	e.Seen, e.View, e.Answer = now, view, answer
	if view != nil && view.Others() {
		e.Others = now
	}
	e.Checks++
	e.Answers++
}

// smooth averages, the latest counting a quarter once there are some.
func smooth(average, latest float64, n int64) float64 {
	if n == 1 {
		return latest
	}
	return average + (latest-average)/4
}

// admit makes room for one that is new, or returns nil. An address that has
// used up its share loses its oldest entry, never somebody else's.
func (b *balancers) admit(key balancerKey, now time.Time) *Balancer {
	if b.from[key.source] >= maxPerSource {
		b.forgetOldest(key.source)
	}
	if len(b.list) >= maxBalancers {
		b.forgetGone(now)
	}
	if len(b.list) >= maxBalancers {
		return nil
	}
	e := &Balancer{Source: key.source, Node: key.node, Name: key.name, Service: key.service}
	b.list[key] = e
	b.from[key.source]++
	return e
}

func (b *balancers) forget(key balancerKey) {
	delete(b.list, key)
	if b.from[key.source]--; b.from[key.source] == 0 {
		delete(b.from, key.source)
	}
}

func (b *balancers) forgetOldest(source netip.Addr) {
	var oldest balancerKey
	for key, e := range b.list {
		if key.source == source && (!oldest.source.IsValid() || e.Seen.Before(b.list[oldest].Seen)) {
			oldest = key
		}
	}
	b.forget(oldest)
}

func (b *balancers) forgetGone(now time.Time) {
	for key, e := range b.list {
		if e.gone(now) {
			b.forget(key)
		}
	}
}

// current returns those that still ask, in a stable order.
func (b *balancers) current(now time.Time) []Balancer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetGone(now)
	list := make([]Balancer, 0, len(b.list))
	for _, e := range b.list {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(x, y Balancer) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), x.Source.Compare(y.Source), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Service, y.Service))
	})
	return list
}
