package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const (
	// maxAnswer bounds a status answer. A real one has under 1 KiB.
	maxAnswer = 64 << 10
	// maxPending is how long a request is left pending. Jetty ends a connection after 30 s
	// without an answer.
	maxPending = 30 * time.Second
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
	Wait        time.Duration
	Environment string // asked for in Puppet 3 to 6; empty means production
	// Service is a service of the Status API to ask for by name, such as ca or
	// PE's broker-service; empty means the master itself, in the generation of the
	// API that it speaks. For a service that the server does not know, the fault's
	// reason is ServiceNotFound.
	Service string
	// Accepts, if set, reports whether the master's process accepts a new connection before
	// ctx ends, which is after AcceptTime. It is called if the master has not answered within
	// a third of Wait. The error says why that is not known.
	Accepts func(ctx context.Context) (bool, error)

	mu       sync.Mutex // held during a probe
	pending  aside[Result]
	giveUp   atomic.Pointer[context.CancelFunc] // ends the request that is pending
	last     Result                             // the last one with an answer, or with a fault other than silence
	api      API                                // the generation that answered last; empty means the newest
	searched time.Time                          // when api was found, unless it is the newest
	denied   time.Time                          // when all generations were last denied
	noPool   error                              // why a search has found no pool
}

// Probe asks once. The result's Fault says what went wrong. Probe returns within Wait, or a third
// of it and AcceptTime if that is longer, or when ctx is done.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := time.Now()
	again := p.pending.running != nil
	r, silence, err := p.await(ctx)
	if again && err == nil && r.Fault != nil && r.Fault.Reason.Side() == SideNetwork {
		r, silence, err = p.await(ctx) // what was pending has ended without an answer
	}
	if err != nil {
		r = p.last
		r.Status, r.Handshake, r.Pool, r.PoolErr = 0, false, nil, nil
		r.Fault = &Fault{Timeout, errors.New("no answer from " + p.Address + " in time" + silence.text())}
	} else {
		p.last = r
	}
	if r.Fault != nil && r.Fault.Reason == Refused {
		p.api, p.denied = "", time.Time{} // another version may be started
	}
	r.Asked, r.Took, r.Silence = asked, time.Since(asked), silence
	return r
}

// await waits for the answer to the request that is pending, or to a new one. If it does not
// come soon, await finds out whether the master accepts connections. The error says that there
// is no answer yet.
func (p *Prober) await(ctx context.Context) (Result, Silence, error) {
	wait := cmp.Or(p.Wait, p.Timeout, puppetclient.DefaultTimeout)
	late, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	soon, cancel := context.WithTimeout(ctx, wait/3)
	defer cancel()
	if p.pending.running == nil {
		pending, giveUp := context.WithCancel(context.Background())
		p.giveUp.Store(&giveUp)
		p.pending.start(func() (Result, error) { return p.request(pending), nil })
	}
	r, err := p.pending.wait(soon, p.Address)
	if err == nil {
		return r, Unexplained, nil
	}
	silence := p.look(ctx)
	r, err = p.pending.wait(late, p.Address)
	return r, silence, err
}

// look finds out whether the master accepts connections.
func (p *Prober) look(ctx context.Context) Silence {
	if p.Accepts == nil {
		return Unexplained
	}
	ctx, cancel := context.WithTimeout(ctx, AcceptTime)
	defer cancel()
	switch accepts, err := p.Accepts(ctx); {
	case err != nil:
		return Unexplained
	case accepts:
		return Saturated
	}
	return Halted
}

// Close gives up a request that is pending, and closes the connections. Probe must not be called
// afterwards.
func (p *Prober) Close() {
	if giveUp := p.giveUp.Load(); giveUp != nil {
		(*giveUp)()
	}
	p.Client.Close()
}

// request asks the master.
func (p *Prober) request(ctx context.Context) (r Result) {
	a, err := p.ask(ctx, &r)
	if a.api.pool() && err == nil && !a.elsewhere() {
		if r.Pool, r.PoolErr = parsePool(a.Body); r.PoolErr == nil && r.Pool.Ready() == 0 {
			a, err = p.askAs(ctx, &r, a.api) // an instance that is being handed over is not counted for a moment
			if err == nil {
				r.Pool, r.PoolErr = parsePool(a.Body)
			}
		}
	} else {
		r.PoolErr = p.noPool
	}
	r.take(a.Answer)
	r.API = a.api
	if err != nil {
		r.Fault = faultOf(err)
		return r
	}
	r.Fault = a.interpret()
	return r
}

// ask uses the generation of the API that answered last. If the server seems to speak
// another one, ask tries all of them; after a denial no more often than connections are
// renewed, since the server logs each denial as an error. A generation other than the newest
// is used until then, too: what keeps the server from answering the newest may end.
func (p *Prober) ask(ctx context.Context, r *Result) (answer, error) {
	if p.Service != "" {
		return p.askAs(ctx, r, serviceAPI(p.Service))
	}
	newest, recent := generations()[0], time.Now().Add(-cmp.Or(p.Handshake, puppetclient.DefaultHandshake))
	known := cmp.Or(p.api, newest)
	if p.searched.Before(recent) {
		known = newest
	}
	first, err := p.askAs(ctx, r, known)
	if err != nil || !first.elsewhere() || first.Status == http.StatusForbidden && p.denied.After(recent) {
		return first, err
	}
	p.noPool = first.noPool()
	said := first
	for _, api := range generations() {
		if api == known {
			continue
		}
		a, err := p.askAs(ctx, r, api)
		if err != nil || !a.elsewhere() {
			if err == nil && first.absent() {
				p.api, p.searched = api, time.Now()
			}
			return a, err
		}
		if said.Status != http.StatusForbidden && a.Status == http.StatusForbidden {
			said = a // a denial says more than a missing path
		}
	}
	if said.Status == http.StatusForbidden {
		p.denied = time.Now()
	}
	return said, nil
}

func (p *Prober) askAs(ctx context.Context, r *Result, api API) (answer, error) {
	path := api.path(cmp.Or(p.Environment, "production"))
	a, err := p.Do(ctx, puppetclient.Request{Path: path, Accept: api.accept(), Limit: api.limit()})
	r.Handshake = r.Handshake || a.Handshake
	return answer{a, api}, err
}

// errNoPool means that the server has no JRubies, like the Ruby master, or does not
// report them.
var errNoPool = errors.New("no JRuby pool")

// noPool returns why an answer does not contain the pool.
func (a answer) noPool() error {
	err := fmt.Errorf("%s: HTTP status %d", a.URL, a.Status)
	if a.Status == http.StatusNotFound || !a.api.pool() {
		return fmt.Errorf("%w: %w", errNoPool, err)
	}
	return err
}

// Silence is what is known of a master that has not answered in time.
type Silence int

// What a master may be doing instead.
const (
	Unexplained Silence = iota // it is on another host, or the kernel does not tell
	Saturated                  // its process accepts connections: it has more to do than it can
	Halted                     // its process does not accept connections: it is stopped
)

func (s Silence) text() string {
	return map[Silence]string{
		Saturated: ", but it accepts connections: it has more requests than threads",
		Halted:    ", and it does not accept connections: its process is stopped",
	}[s]
}

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	Asked     time.Time     // when the probe began
	Took      time.Duration // until the answer was read, or the probe gave up
	API       API           // the generation of the API that answered
	URL       string        // what was asked last
	Status    int           // the HTTP status code, 0 without an answer
	Handshake bool          // the probe made a new connection instead of using the kept one
	TLS       *TLS          // describes the connection; nil if there was none
	Own       *Certificate  // the certificate of this host; nil if it could not be used
	CAs       []Certificate // in the CA bundle
	CRLs      []CRL         // in use, in the order of the file
	Fault     *Fault        // nil if the master answered that it is running
	Silence   Silence       // of a fault whose reason is Timeout
	Pool      *Pool         // of JRubies; nil if the answer has none
	PoolErr   error         // why there is no Pool, of a master that has answered
	Warning   error         // why not all files are in use as they are on disk; nil if they are
	Anonymous error         // why the probe offered no certificate; nil if it did
}

// take records an answer, or as much of it as there is.
func (r *Result) take(a puppetclient.Answer) {
	r.URL, r.Status, r.TLS, r.Own, r.CAs, r.CRLs, r.Warning = a.URL, a.Status, a.TLS, a.Own, a.CAs, a.CRLs, a.Warning
	r.Anonymous = a.Anonymous
}

// TLS, Certificate and CRL are those of package puppetclient.
type (
	TLS         = puppetclient.TLS
	Certificate = puppetclient.Certificate
	CRL         = puppetclient.CRL
)
