package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// questions returns all ways to ask a master, the newest generation first: in the order in which they are
// tried if it is not known. The first two also report the pool of JRubies.
func questions() []string {
	return []string{
		"/status/v1/services/jruby-metrics?level=debug",    // Puppet Server 5 and later, OpenVox
		"/status/v1/services/pe-jruby-metrics?level=debug", // the same on PE
		"/status/v1/simple/server",                         // Puppet Server 6.14 and later, OpenVox
		"/status/v1/simple/master",                         // Puppet Server 2.6 to 6.13
		"/status/v1/simple",                                // where no other path is allowed
		"/puppet/v3/status/pmcheck?environment=production", // Puppet 4 to 6
		"/production/status/no_key",                        // Puppet 3 and earlier
	}
}

// word returns the state in an answer: that of a service, of a master that is alive, or plain text.
func word(body []byte) string {
	var said struct {
		State string `json:"state"`
		Alive bool   `json:"is_alive"`
	}
	switch err := json.Unmarshal(body, &said); {
	case err != nil:
		return strings.TrimSpace(string(body[:min(len(body), 64)]))
	case said.Alive:
		return "running"
	}
	return said.State
}

type answer struct {
	puppetclient.Answer
	path  string
	named bool // it is about a service, not about the master
}

func (a answer) pool() bool { return strings.Contains(a.path, "jruby-metrics") && !a.named }

// absent reports whether the answer may mean only that this server speaks another
// generation, so that neither its routes nor its access rules contain the path.
func (a answer) absent() bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, a.Status)
}

// elsewhere reports whether another question must be asked. That a service of metrics is
// not running says nothing about the master.
func (a answer) elsewhere() bool { return a.absent() || a.pool() && a.fault() != nil }

// fault returns nil if the master reports that it is running, which is always with status 200.
func (a answer) fault() *Fault {
	fail := func(r Reason, what string) *Fault { return &Fault{Reason: r, Err: errors.New(a.URL + ": " + what)} }
	word := word(a.Body)
	switch state := Reason("state-" + word); {
	case a.Status == http.StatusForbidden:
		return fail(AuthDenied, "403 Forbidden: the master's auth.conf lacks the rule for the status API")
	case a.Status == http.StatusNotFound && a.named:
		return fail(ServiceNotFound, "404 Not Found: the server has no service of that name")
	case a.Status == http.StatusNotFound:
		return fail(NoStatusAPI, "404 Not Found for every generation of the status API")
	case a.Status == http.StatusOK && word == "running":
		return nil
	case a.Status == http.StatusOK:
		return fail(puppetclient.BadAnswer, "200, but the state is not running")
	case a.Status == http.StatusServiceUnavailable &&
		slices.Contains([]Reason{StateError, StateStarting, StateStopping, StateUnknown}, state):
		return fail(state, "the server reports the state "+word)
	}
	return fail(HTTPError, fmt.Sprintf("HTTP status %d %s", a.Status, http.StatusText(a.Status)))
}

func (p *Prober) request(ctx context.Context) Result {
	a, err := p.ask(ctx)
	r := Result{Answer: a.Answer, Fault: faultOf(err)}
	if err == nil {
		r.Fault = a.fault()
	}
	if !a.pool() || r.Fault != nil {
		r.PoolErr = p.noPool
	} else if r.Pool, r.PoolErr = parsePool(a.Body); r.PoolErr == nil && r.Pool.Ready() == 0 {
		// An instance that is being handed over is not counted for a moment.
		if a, err = p.put(ctx, a.path); err == nil && a.fault() == nil {
			r.Pool, r.PoolErr = parsePool(a.Body)
		}
	}
	r.Body = nil
	return r
}

// ask asks the question that was answered last. If the server seems to speak another
// generation, ask tries all of them; after a denial no more often than connections are
// renewed, since the server logs each denial as an error. A generation other than the newest
// is used until then, too: what keeps the server from answering the newest may end.
func (p *Prober) ask(ctx context.Context) (answer, error) {
	if p.Service != "" {
		return p.put(ctx, "/status/v1/simple/"+url.PathEscape(p.Service))
	}
	recent := time.Since(p.searched) < cmp.Or(p.Handshake, puppetclient.DefaultHandshake)
	last := questions()[0]
	if recent {
		last = p.found
	}
	first, err := p.put(ctx, last)
	if err != nil || !first.elsewhere() || recent && first.Status == http.StatusForbidden {
		return first, err
	}
	p.noPool = first.fault()
	said := first
	for _, path := range questions() {
		if path == first.path {
			continue
		}
		a, err := p.put(ctx, path)
		if err != nil {
			return a, err
		}
		if !a.elsewhere() {
			if first.absent() {
				p.found, p.searched = path, time.Now()
			}
			return a, nil
		}
		if a.Status == http.StatusForbidden {
			said = a // a denial says more than a missing path
		}
	}
	if said.Status == http.StatusForbidden {
		p.found, p.searched = said.path, time.Now()
	}
	return said, nil
}

func (p *Prober) put(ctx context.Context, path string) (answer, error) {
	a, err := p.Do(ctx, path)
	return answer{a, path, p.Service != ""}, err
}
