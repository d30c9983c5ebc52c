package check

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const (
	// MaxPending is how long a request should be left pending at most. Jetty ends a connection
	// after 30 s without an answer.
	MaxPending = 30 * time.Second
	// AcceptTime is how long a process may take to accept a connection. A full garbage
	// collection, or one after the other, takes up to a second, however short Wait is.
	AcceptTime = time.Second
)

// Prober probes one master. The exported fields, including those of Client, must be
// set before the first Probe. A Prober is safe for concurrent use: concurrent calls of
// Probe wait for each other.
type Prober struct {
	// Client sends the requests. Its Timeout is how long one may stay pending.
	puppetclient.Client
	// Wait is how long a Probe waits for the answer; 0 means Timeout. The request then stays
	// pending, and the next Probe waits for the same answer: on a master that is
	// saturated, a new connection gets no further than an old one.
	Wait time.Duration
	// Service is a service of the Status API to ask for by name, such as ca or
	// PE's broker-service; empty means the master itself, in the generation of the
	// API that it speaks. For a service that the server does not know, the fault's
	// reason is ServiceNotFound.
	Service string
	// Accepts reports whether the master's process accepts a new connection before
	// ctx ends, which is after AcceptTime. It is called if the master has not answered within
	// a third of Wait. The error says why that is not known.
	Accepts func(ctx context.Context) (bool, error)

	mu       sync.Mutex  // held during a probe
	pending  chan Result // of the request under way, which ends within Timeout; nil without one
	last     Result      // the last one with an answer, or with a fault other than silence
	found    string      // what the master's generation answers, by the last search
	searched time.Time   // when that was; zero if another version may have been started
	noPool   error       // why its answers have no pool
}

// Probe asks, and asks once more if the master answered last time and there is a fault now: the
// server may have closed the kept connection while the request was sent. The result's Fault says
// what went wrong. Each request is waited for until ctx is done, or for Wait, or a third of it and
// AcceptTime if that is longer.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, wasPending := time.Now(), p.pending != nil
	r, answered := p.await(ctx)
	if answered && r.Fault != nil && (wasPending || r.Fault.Reason != puppetclient.Timeout && p.last.Fault == nil) {
		r, answered = p.await(ctx)
	}
	if answered {
		p.last = r
	}
	if r.Fault != nil && r.Fault.Reason == puppetclient.Refused {
		p.searched = time.Time{}
	}
	r.Asked, r.Took = asked, time.Since(asked)
	return r
}

// await waits for the answer to the request that is pending, or to a new one. If it does not
// come soon, await finds out whether the master accepts connections. Without an answer, the result
// is the last one, with another fault.
func (p *Prober) await(ctx context.Context) (r Result, answered bool) {
	if p.pending == nil {
		p.pending = make(chan Result, 1)
		go func(to chan<- Result) { to <- p.request(context.Background()) }(p.pending)
	}
	wait, began := cmp.Or(p.Wait, p.Timeout), time.Now()
	if r, answered = p.receive(ctx, wait/3); answered {
		return r, true
	}
	looking, cancel := context.WithTimeout(ctx, AcceptTime)
	accepts, err := p.Accepts(looking)
	cancel()
	if r, answered = p.receive(ctx, wait-time.Since(began)); answered {
		return r, true
	}
	said := ", and it does not accept connections: its process is stopped"
	switch {
	case err != nil:
		said = ""
	case accepts:
		said = ", but it accepts connections: it has more requests than threads"
	}
	r = p.last
	r.Status, r.Handshake, r.Pool, r.PoolErr, r.Saturated = 0, false, nil, nil, accepts && err == nil
	r.Fault = &Fault{Reason: puppetclient.Timeout, Err: errors.New("no answer from " + p.Address + " in time" + said)}
	return r, false
}

// receive waits for the answer that is pending. It takes one that is already there.
func (p *Prober) receive(ctx context.Context, wait time.Duration) (r Result, answered bool) {
	select {
	case r = <-p.pending:
		p.pending = nil
		return r, true
	case <-ctx.Done():
	case <-time.After(max(wait, time.Millisecond)):
	}
	return Result{}, false
}

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	puppetclient.Answer               // to what was asked last; without its body
	Asked               time.Time     // when the probe began
	Took                time.Duration // until the answer was read, or the probe gave up
	Fault               *Fault        // nil if the master answered that it is running
	Saturated           bool          // the master does not answer, but accepts connections
	Pool                *Pool         // of JRubies; nil if the answer has none
	PoolErr             error         // why there is no Pool, of a master that has answered
}
