package check

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds on what a master may send. A real status answer has under 1 KiB.
const (
	maxAnswer = 64 << 10
	maxHeader = 64 << 10
)

// The values used where a Prober's fields are zero.
const (
	DefaultTimeout   = 1500 * time.Millisecond
	DefaultHandshake = 30 * time.Second // Jetty ends an idle connection then
)

// Prober asks one master how it is. Set the exported fields before the first
// Probe. It keeps one connection, since a handshake costs Puppet Server about
// ten times as much as a question over a kept one.
//
// Probes are made one after another: Probe may be called concurrently, and
// the calls wait for each other.
type Prober struct {
	Address     string // host:port to connect to
	ServerName  string // the master's certname: TLS server name and Host header
	Environment string // asked for in Puppet 3 to 6; empty means production
	Credentials *Credentials
	Timeout     time.Duration // for a whole probe
	Handshake   time.Duration // the longest that a connection is kept
	// Lost, if set, is called when the master ends the kept connection. It is
	// called from another goroutine and must not block.
	Lost func()

	once      sync.Once
	transport *http.Transport
	material  atomic.Pointer[material] // what the next handshake uses
	conn      atomic.Pointer[conn]     // the newest connection

	mu       sync.Mutex // held by the probe under way
	api      API        // what answered last
	searched time.Time  // when all generations were last asked
}

// Probe asks once. It never fails: what went wrong is the result's Fault. It
// returns within Timeout, or when ctx is done.
func (p *Prober) Probe(ctx context.Context) Result {
	p.once.Do(p.init)
	p.mu.Lock()
	defer p.mu.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()

	r := Result{Asked: began}
	m := p.renew(&r, began)
	if m == nil {
		r.Fault = &Fault{Reason: OwnFiles, Err: r.Warning}
		r.Warning = nil
		return r
	}
	before := p.conn.Load()
	a, err := p.ask(ctx)
	r.Took = time.Since(began)
	c := p.conn.Load()
	r.Handshake = c != before
	r.API, r.URL, r.Status = a.api, a.url, a.status
	if c != nil && (err == nil || r.Handshake) {
		r.TLS = describeTLS(c.state)
	}
	if err != nil {
		r.Fault = classify(err, m, c, p.Address, time.Now())
		p.conn.Store(nil) // whatever it was, the next probe starts anew
		return r
	}
	r.Version, r.Fault = a.interpret()
	return r
}

// Close ends the kept connection. The prober may be used again.
func (p *Prober) Close() {
	p.once.Do(p.init)
	p.transport.CloseIdleConnections()
}

// renew looks at the files and ends a kept connection that is too old or was
// made with other files, so that the next question shakes hands.
func (p *Prober) renew(r *Result, now time.Time) *material {
	c := p.conn.Load()
	due := c == nil || now.Sub(c.born) >= p.handshake()
	m, err := p.Credentials.material(due)
	r.Warning = err
	if due || m != p.material.Load() {
		p.transport.CloseIdleConnections()
		p.conn.Store(nil)
	}
	p.material.Store(m)
	if m != nil {
		own := describeCertificate(m.own.Leaf)
		r.Own, r.CRL = &own, m.firstCRLExpiry()
	}
	return m
}

func (p *Prober) init() {
	p.transport = &http.Transport{
		DialTLSContext:         p.dial,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
	}
}

// dial bounds itself: net/http lets a dial go on after the request that
// wanted it has given up.
func (p *Prober) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	c, err := dial(ctx, p.Address, p.material.Load().clientConfig(p.ServerName, time.Now), p.signalLost)
	if err != nil {
		return nil, err
	}
	p.conn.Store(c)
	return c, nil
}

func (p *Prober) signalLost() {
	if p.Lost != nil {
		p.Lost()
	}
}

// ask puts the question in the generation that answered last. If the server
// seems to speak another one, all are tried; after a denial not more often
// than connections are renewed, since a server logs each one as an error.
func (p *Prober) ask(ctx context.Context) (answer, error) {
	known := p.api
	if known == "" {
		known = APISimpleServer
	}
	first, err := p.get(ctx, known)
	if err != nil || !first.elsewhere() {
		if err == nil {
			p.api = known
		}
		return first, err
	}
	if first.status == http.StatusForbidden && time.Since(p.searched) < p.handshake() {
		return first, nil
	}
	p.searched = time.Now()
	for _, api := range generations() {
		if api == known {
			continue
		}
		a, err := p.get(ctx, api)
		if err != nil {
			return a, err
		}
		if !a.elsewhere() {
			p.api = api
			return a, nil
		}
		if first.status != http.StatusForbidden && a.status == http.StatusForbidden {
			first = a // a denial says more than a missing path
		}
	}
	return first, nil
}

func (p *Prober) get(ctx context.Context, api API) (answer, error) {
	environment := p.Environment
	if environment == "" {
		environment = "production"
	}
	a := answer{api: api, url: "https://" + p.Address + api.path(environment)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return a, err
	}
	req.Host = p.ServerName // Jetty refuses a Host that differs from the TLS server name
	req.Header.Set("Accept", api.accept())
	req.Header.Set("User-Agent", "pmcheck")
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	a.body, a.tooBig, err = readBounded(resp.Body, maxAnswer)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return a, err
}

func (p *Prober) timeout() time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return DefaultTimeout
}

func (p *Prober) handshake() time.Duration {
	if p.Handshake > 0 {
		return p.Handshake
	}
	return DefaultHandshake
}
