package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const (
	// MaxPending is how long a request should be left pending at most. Jetty ends a connection
	// after 30 s without a response.
	MaxPending = 30 * time.Second
	// AcceptTime is how long a process may take to accept a connection. A full garbage
	// collection, or one after the other, takes up to a second, however short Wait is.
	AcceptTime = time.Second
)

// Prober probes one master. Its exported fields, and the Client's, must be
// set before the first Probe. A Prober is safe for concurrent use: concurrent calls of
// Probe wait for each other.
type Prober struct {
	// Client sends the requests. Its Timeout is how long one may stay pending.
	puppetclient.Client
	// Wait is how long a Probe waits for the response; 0 means Timeout. The request then stays
	// pending, and the next Probe waits for the same response: on a master that is
	// saturated, a new connection gets no further than an old one.
	Wait time.Duration
	// Service is a service of the Status API to ask for by name, such as ca or
	// PE's broker-service; empty means the master itself, in the generation of the
	// API that it speaks. For a service that the server does not know, the fault's
	// reason is ServiceNotFound.
	Service string
	// Environment is the environment that a master of Puppet 3 to 6 is asked for; empty means production.
	Environment string
	// Accepts reports whether the master's process accepts a new connection before
	// ctx ends, which is after AcceptTime. It is called if the master has not answered within
	// a third of Wait, or leaves other connections waiting. The error says why that is not known; nil means that it
	// never is.
	Accepts func(ctx context.Context) (bool, error)
	// Listens looks at the socket on which the master listens; nil means that nothing can be known
	// of it. The error says why that is not known.
	Listens func() (Listening, error)
	// Elsewhere, if set, is called when the master's port refuses a connection. It says where the master may listen
	// instead; empty if that is not known.
	Elsewhere func() string

	mu        sync.Mutex  // held during a probe
	pending   chan Result // of the request under way, which ends within Timeout; nil without one
	last      Result      // the last one with a response, or with a fault other than silence
	found     string      // what the master's generation answers, by the last search
	searched  time.Time   // when that was; zero if another version may have been started
	denies    bool        // by the last search, auth.conf denies the whole Status API
	inPart    bool        // by the last search, some of it is denied, and the rest is missing
	provedAll bool        // both sides were proved in the last search
	noPool    error       // why its responses have no pool
	queued    time.Time   // since when it has left connections waiting each time; zero if not the last time
}

// Listening is what the kernel knows of the socket on which a master listens.
type Listening struct {
	// ID tells this socket from every other, and so the process of the master from a process that is
	// started later.
	ID string
	// Waiting counts the connections that the process has not accepted yet.
	Waiting int
}

// Probe asks, and asks once more if the master answered last time and there is a fault now: the
// server may have closed the kept connection while the request was sent. The result's Fault says
// what went wrong. Each request is waited for until ctx is done, or for Wait, or a third of it and
// AcceptTime if that is longer.
//
// The first Probe waits for the files: see Credentials.Ready.
//
// A response on a kept connection does not prove that new ones come in. If connections wait to be accepted in two
// probes, a second apart, or after a probe without a response, Probe finds out whether the process accepts them: it may
// ask once more, and take another 2 × AcceptTime.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.Credentials.Ready(ctx)
	asked := time.Now()
	wasPending := p.pending != nil // the master did not answer last time
	r, answered := p.await(ctx)
	if answered && p.mayBeOfTheConnection(r.Fault, wasPending) {
		r, answered = p.await(ctx)
	}

	r = p.withSocket(r)
	mayNotAccept := r.Waiting > 0 && (wasPending || p.overdue())
	if answered && r.Fault == nil && mayNotAccept {
		r, answered = p.knock(ctx, r)
	}

	if answered {
		p.last = r
	}
	if r.Fault != nil && r.Fault.Reason == puppetclient.Refused {
		// Another version may be started next.
		p.searched = time.Time{}
		p.inPart = false
		r.Fault = p.located(r.Fault)
	}
	r.Asked = asked
	r.Took = time.Since(asked)
	return r
}

// mayBeOfTheConnection reports whether a fault may say nothing about the master, which would answer another request.
func (p *Prober) mayBeOfTheConnection(fault *Fault, wasPending bool) bool {
	if fault == nil {
		return false
	}

	// The request is an old one, and its connection may have ended because it was.
	if wasPending {
		return true
	}

	// The master may have closed the kept connection while the request was sent. That is no timeout.
	return p.last.Fault == nil && fault.Reason != puppetclient.Timeout
}

// withSocket adds to a result what the kernel knows of the master's socket, and notes since when connections have
// waited there each time.
func (p *Prober) withSocket(r Result) Result {
	socket := p.listening()
	r.Listener = socket.ID
	r.Waiting = socket.Waiting

	acceptsNow := r.Handshake // the connection of this very response is new
	if r.Waiting == 0 || acceptsNow {
		p.queued = time.Time{}
	} else if p.queued.IsZero() {
		p.queued = time.Now()
	}
	return r
}

// listening returns what is known of the master's socket; the zero value if nothing is.
func (p *Prober) listening() Listening {
	if p.Listens == nil {
		return Listening{}
	}
	socket, err := p.Listens()
	if err != nil {
		return Listening{}
	}
	return socket
}

// overdue reports whether the master has left connections waiting twice, a second apart: it may have stopped to
// accept them, without descriptors for example. In a herd of agents the queue is empty again the next time.
func (p *Prober) overdue() bool {
	const second = 9 * time.Second / 10 // less what one response may take longer than another
	return !p.queued.IsZero() && time.Since(p.queued) >= second
}

// knock finds out whether the process accepts a new connection. If that cannot be known, what was seen last counts. If
// the process accepts none, it may be in a garbage collection,
// so knock asks once more on the kept connection: a process that has answered is at work again, and is given the
// same time once more.
func (p *Prober) knock(ctx context.Context, r Result) (Result, bool) {
	if p.mayAccept(ctx) {
		return r, true
	}

	since := p.queued
	r, answered := p.await(ctx)
	r = p.withSocket(r)
	if !answered || r.Fault != nil {
		return r, answered
	}

	emptied := !p.queued.Equal(since)
	if emptied || p.mayAccept(ctx) {
		return r, answered
	}

	waits := fmt.Errorf("%s answers on a connection that it has, and does not accept new ones: %d wait",
		p.Address, r.Waiting)
	r.Fault = &Fault{Reason: NotAccepting, Err: waits}
	return r, true
}

// accepts reports whether the process accepts a new connection, or returns why that is not known.
func (p *Prober) accepts(ctx context.Context) (bool, error) {
	if p.Accepts == nil {
		return false, errors.New("nothing finds out")
	}
	return p.Accepts(ctx)
}

// mayAccept reports whether the process accepts a new connection within AcceptTime. If that cannot be known, it may if
// it did last time: the kernel resets connections, too, if the queue of a process that accepts none is full.
func (p *Prober) mayAccept(ctx context.Context) bool {
	inTime, cancel := context.WithTimeout(ctx, AcceptTime)
	defer cancel()
	accepts, err := p.accepts(inTime)

	isNotKnown := err != nil || ctx.Err() != nil
	if isNotKnown {
		acceptedNone := p.last.Fault != nil && p.last.Fault.Reason == NotAccepting
		return !acceptedNone
	}
	return accepts
}

// located returns the fault of a port that refuses connections, with where the master may listen instead.
func (p *Prober) located(refused *Fault) *Fault {
	if p.Elsewhere == nil {
		return refused
	}
	where := p.Elsewhere()
	if where == "" {
		return refused
	}
	return &Fault{Reason: refused.Reason, Err: fmt.Errorf("%w; %s", refused.Err, where)}
}

// await waits for the response to the request that is pending, or to a new one. If it does not
// come soon, await finds out whether the master accepts connections. Without a response, the result
// is the last one, with another fault.
func (p *Prober) await(ctx context.Context) (r Result, answered bool) {
	if p.pending == nil {
		p.pending = make(chan Result, 1)
		go func(to chan<- Result) { to <- p.request(context.Background()) }(p.pending)
	}

	began := time.Now()
	wait := cmp.Or(p.Wait, p.Timeout)
	if r, answered = p.receive(ctx, wait/3); answered {
		return r, true
	}

	inTime, cancel := context.WithTimeout(ctx, AcceptTime)
	accepts, err := p.accepts(inTime)
	cancel()
	if r, answered = p.receive(ctx, wait-time.Since(began)); answered {
		return r, true
	}

	r = p.unanswered(ctx)
	r.Saturated = accepts && err == nil
	r.Fault = p.silence(accepts, err)
	return r, false
}

// silence returns the fault of a master that does not answer, by what Accepts has returned.
func (p *Prober) silence(accepts bool, err error) *Fault {
	said := "no answer from " + p.Address + " in time"
	if errors.Is(err, syscall.ECONNREFUSED) {
		said += ", and it refuses connections"
		return &Fault{Reason: puppetclient.Timeout, Err: errors.New(said)}
	}
	if err != nil {
		unseen := fmt.Errorf("%s, and it is not known whether it accepts connections: %w", said, err)
		return &Fault{Reason: AcceptNotKnown, Err: unseen}
	}

	if accepts {
		said += ", but it accepts connections"
	} else {
		said += ", and it does not accept connections"
	}
	return &Fault{Reason: puppetclient.Timeout, Err: errors.New(said)}
}

// unanswered returns the result without a response, which has of the last result what is true without one: the
// certificates and files, and what was doubted.
func (p *Prober) unanswered(ctx context.Context) Result {
	r := p.last
	noneBefore := r.URL == ""
	if noneBefore {
		reading, cancel := context.WithTimeout(ctx, AcceptTime) // the file system may hang
		defer cancel()
		r.Response = p.Known(reading)
	}

	r.Status = 0
	r.Handshake = false
	r.Saturated = false
	r.Pool = nil
	r.PoolErr = nil
	r.Denied = nil
	return r
}

// receive waits for the response that is pending. It takes a response that is already there, however short wait is.
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
	puppetclient.Response               // to what was asked last; without its body
	Asked                 time.Time     // when the probe began
	Took                  time.Duration // until the response was read, or the probe gave up
	Fault                 *Fault        // nil if the master answered that it is running, or Denied
	Saturated             bool          // the master does not answer, but accepts connections
	Pool                  *Pool         // of JRubies; nil if the response has none
	PoolErr               error         // why there is no Pool, of a master that has answered

	// Denied is set if the master says nothing of itself, and agents are served: its auth.conf, which masters share,
	// denies the whole Status API to the certificate of this host, or the master, which is verified, requires a
	// certificate, and none could be offered.
	Denied   *Fault
	Listener string // see Listening.ID; empty if it is not known
	Waiting  int    // see Listening.Waiting; 0 if it is not known
}

// Doubted reports whether the response left open something that pmcheck finds out otherwise: one end of the TLS
// connection has not proved who it is, the identity is guessed, the files are not all in use, or auth.conf denies the
// status.
func (r Result) Doubted() bool {
	unproved := r.TLS != "" && !r.Proved
	ownDoubt := r.Guessed || r.Warning != nil || r.Anonymous != nil
	return unproved || ownDoubt || r.Denied != nil
}
