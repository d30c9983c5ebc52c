package check

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// maxAnswer bounds a status answer. A real one has under 1 KiB.
const maxAnswer = 64 << 10

// Prober asks one master how it is. Set the exported fields, those of the
// Client too, before the first Probe.
//
// Probes are made one after another: Probe may be called concurrently, and
// the calls wait for each other.
type Prober struct {
	Client
	Environment string // asked for in Puppet 3 to 6; empty means production
	// Service is a service of the Status API to ask for by name, such as ca or
	// PE's broker-service; empty is the master itself, in the generation of the
	// API that it speaks. One that the server does not list is the fault
	// ServiceNotFound.
	Service string

	mu       sync.Mutex // held by the probe under way
	api      API        // what answered last
	searched time.Time  // when all generations were last asked
}

// Probe asks once. It never fails: what went wrong is the result's Fault. It
// returns within Timeout, or when ctx is done.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()

	r := Result{Asked: began}
	m, err := p.renew(began)
	if m == nil {
		r.Fault = ownFilesFault(err)
		return r
	}
	r.Warning = err
	r.describe(m)
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

// ask puts the question in the generation that answered last. If the server
// seems to speak another one, all are tried; after a denial not more often
// than connections are renewed, since a server logs each one as an error.
func (p *Prober) ask(ctx context.Context) (answer, error) {
	if p.Service != "" {
		return p.askAs(ctx, serviceAPI(p.Service))
	}
	known := p.api
	if known == "" {
		known = APISimpleServer
	}
	first, err := p.askAs(ctx, known)
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
		a, err := p.askAs(ctx, api)
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

func (p *Prober) askAs(ctx context.Context, api API) (answer, error) {
	environment := p.Environment
	if environment == "" {
		environment = "production"
	}
	a, err := p.get(ctx, api.path(environment), api.accept(), maxAnswer)
	a.api = api
	return a, err
}
