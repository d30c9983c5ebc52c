package check

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// maxAnswer bounds a status answer. A real one has under 1 KiB.
const maxAnswer = 64 << 10

// Prober probes one master. The exported fields, including those of Client, must be
// set before the first Probe. A Prober is safe for concurrent use: concurrent calls of
// Probe wait for each other.
type Prober struct {
	puppetclient.Client
	Environment string // asked for in Puppet 3 to 6; empty means production
	// Service is a service of the Status API to ask for by name, such as ca or
	// PE's broker-service; empty means the master itself, in the generation of the
	// API that it speaks. For a service that the server does not know, the fault's
	// reason is ServiceNotFound.
	Service string

	mu       sync.Mutex // held during a probe
	api      API        // the generation that answered last; empty means the newest
	searched time.Time  // when all generations were last asked
}

// Probe asks once. The result's Fault says what went wrong. Probe returns within
// Timeout, or when ctx is done.
func (p *Prober) Probe(ctx context.Context) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Result{Asked: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.Timeout, puppetclient.DefaultTimeout))
	defer cancel()
	a, err := p.ask(ctx, &r)
	r.take(a.Answer)
	if a.Own != nil {
		r.API = a.api
	}
	if err != nil {
		r.Fault = faultOf(err)
		return r
	}
	r.Fault = a.interpret()
	return r
}

// ask uses the generation of the API that answered last. If the server seems to speak
// another one, ask tries all of them; after a denial no more often than connections are
// renewed, since the server logs each denial as an error.
func (p *Prober) ask(ctx context.Context, r *Result) (answer, error) {
	if p.Service != "" {
		return p.askAs(ctx, r, serviceAPI(p.Service))
	}
	known := cmp.Or(p.api, APISimpleServer)
	first, err := p.askAs(ctx, r, known)
	soon := time.Since(p.searched) < cmp.Or(p.Handshake, puppetclient.DefaultHandshake)
	if err != nil || !first.elsewhere() || first.Status == http.StatusForbidden && soon {
		return first, err
	}
	p.searched = time.Now()
	for _, api := range generations() {
		if api == known {
			continue
		}
		a, err := p.askAs(ctx, r, api)
		if err == nil && !a.elsewhere() {
			p.api = api
		}
		if err != nil || !a.elsewhere() {
			return a, err
		}
		if first.Status != http.StatusForbidden && a.Status == http.StatusForbidden {
			first = a // a denial says more than a missing path
		}
	}
	return first, nil
}

func (p *Prober) askAs(ctx context.Context, r *Result, api API) (answer, error) {
	path := api.path(cmp.Or(p.Environment, "production"))
	a, err := p.Do(ctx, puppetclient.Request{Path: path, Accept: api.accept(), Limit: maxAnswer})
	r.Handshake = r.Handshake || a.Handshake
	return answer{a, api}, err
}

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	Asked     time.Time     // when the probe began
	Took      time.Duration // until the answer was read, or the probe gave up
	API       API           // the generation of the API that answered
	URL       string        // what was asked last; empty if nothing could be asked
	Status    int           // the HTTP status code, 0 without an answer
	Handshake bool          // the probe made a new connection instead of using the kept one
	TLS       *TLS          // describes the connection; nil if there was none
	Own       *Certificate  // the certificate that the probe offers; nil if it could not be read
	CAs       []Certificate // in the CA bundle
	CRLs      []CRL         // in use, in the order of the file
	Fault     *Fault        // nil if the master answered that it is running
	Warning   error         // set while newer files on disk are unusable and the last good ones are in use
}

// take records an answer, or as much of it as there is.
func (r *Result) take(a puppetclient.Answer) {
	r.URL, r.Status, r.TLS, r.Own, r.CAs, r.CRLs, r.Warning = a.URL, a.Status, a.TLS, a.Own, a.CAs, a.CRLs, a.Warning
	r.Handshake = r.Handshake || a.Handshake
	if a.Own != nil {
		r.Took = time.Since(r.Asked)
	}
}

// NextExpiry returns when the first of all certificates and CRLs in r expires after a time;
// zero if none does.
func (r Result) NextExpiry(after time.Time) (first time.Time) {
	var ends []time.Time
	if r.TLS != nil {
		ends = append(ends, r.TLS.Server.NotAfter)
	}
	if r.Own != nil {
		ends = append(ends, r.Own.NotAfter)
	}
	for _, c := range r.CAs {
		ends = append(ends, c.NotAfter)
	}
	for _, c := range r.CRLs {
		ends = append(ends, c.Expires)
	}
	for _, end := range ends {
		if end.After(after) && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	return first
}

// TLS, Certificate and CRL are those of package puppetclient.
type (
	TLS         = puppetclient.TLS
	Certificate = puppetclient.Certificate
	CRL         = puppetclient.CRL
)
