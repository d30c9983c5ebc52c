package check

import (
	"bytes"
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

// statusAPI is where Puppet Server has its Status API, since 2.6.
const statusAPI = "/status/v1/"

// questions returns all ways to ask a master, the newest generation first: in the order in which they are
// tried if the generation is not known. The first two also report the pool of JRubies. The last two generations answer
// only for an environment that the master has.
func questions(environment string) []string {
	environment = url.PathEscape(cmp.Or(environment, "production"))
	return []string{
		statusAPI + "services/jruby-metrics?level=debug",       // Puppet Server 5 and later, OpenVox
		statusAPI + "services/pe-jruby-metrics?level=debug",    // the same on PE
		statusAPI + "simple/server",                            // Puppet Server 6.14 and later, OpenVox
		statusAPI + "simple/master",                            // Puppet Server 2.6 to 6.13
		statusAPI + "simple",                                   // where no other path is allowed
		"/puppet/v3/status/pmcheck?environment=" + environment, // Puppet 4 to 6
		"/" + environment + "/status/no_key",                   // Puppet 3 and earlier
	}
}

// A response is what the master said to one question.
type response struct {
	puppetclient.Response
	path  string
	named bool // it is about a service, not about the master
}

// word returns the state in a response: the state of a service, running for a master that is alive, or plain text.
func word(body []byte) string {
	var said struct {
		State string `json:"state"`
		Alive bool   `json:"is_alive"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		plain := body[:min(len(body), 64)]
		return strings.TrimSpace(string(plain))
	}

	if said.Alive {
		return "running"
	}
	return said.State
}

// isPool reports whether the service that knows the pool of JRubies was asked.
func (a response) isPool() bool { return strings.Contains(a.path, "jruby-metrics") && !a.named }

// absent reports whether the response may mean only that this server speaks another
// generation, so that neither its routes nor its access rules contain the path.
func (a response) absent() bool {
	switch a.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return false
}

// elsewhere reports whether another question must be asked. That a service of metrics is
// not running says nothing about the master.
func (a response) elsewhere() bool { return a.absent() || a.isPool() && a.fault() != nil }

// denied reports whether the master itself has denied the question by its auth.conf, to the certificate of this
// host: both ends of the connection have proved who they are. Another program, or a master that was asked
// without a certificate, has another reason for a 403.
func (a response) denied() bool {
	return a.Proved && a.Status == http.StatusForbidden && bytes.HasPrefix(a.Body, []byte("Forbidden request:"))
}

// deniesStatus reports whether the responses to all questions say that the auth.conf of the master denies the whole
// Status API, and that no older generation is there instead.
func deniesStatus(all []response) bool {
	for _, a := range all {
		olderAndMissing := !strings.HasPrefix(a.path, statusAPI) && a.Status == http.StatusNotFound
		if !a.denied() && !olderAndMissing {
			return false
		}
	}
	return len(all) == len(questions(""))
}

// fault returns nil if the master reports that it is running, which is always with status 200.
func (a response) fault() *Fault {
	fail := func(r Reason, what string) *Fault {
		return &Fault{Reason: r, Err: errors.New(a.URL + ": " + what)}
	}
	said := word(a.Body)

	switch a.Status {
	case http.StatusOK:
		if said == "running" {
			return nil
		}
		return fail(puppetclient.BadResponse, "200, but the state is not running")

	case http.StatusForbidden:
		if a.denied() {
			return fail(AuthDenied, "403 Forbidden: the master's auth.conf lacks the rule for the status API")
		}
		return fail(AuthDenied, "403 Forbidden")

	case http.StatusNotFound:
		if a.named {
			return fail(ServiceNotFound, "404 Not Found: the server has no service of that name")
		}
		return fail(NoStatusAPI, "404 Not Found for every generation of the status API")

	case http.StatusServiceUnavailable:
		state := Reason("state-" + said)
		if slices.Contains([]Reason{StateError, StateStarting, StateStopping, StateUnknown}, state) {
			return fail(state, "the server reports the state "+said)
		}
	}
	return fail(HTTPError, fmt.Sprintf("HTTP status %d %s", a.Status, http.StatusText(a.Status)))
}

// request asks the master once, in as many questions as that takes, and returns what the response says.
func (p *Prober) request(ctx context.Context) Result {
	a, err := p.ask(ctx)
	r := Result{Response: a.Response, Fault: faultOf(err)}
	if err == nil {
		r.Fault = a.fault()
	}

	// A master whose auth.conf denies the status serves agents all the same. So does a master that requires a certificate
	// when none could be offered. Of a service beside the master, a required certificate says nothing.
	requires := r.Fault != nil && r.Fault.Reason == puppetclient.CertificateRequired && p.Service == ""
	denies := p.denies && a.denied()
	if requires || denies {
		r.Denied = r.Fault
		r.Fault = nil
	}

	if a.isPool() && r.Fault == nil {
		r.Pool, r.PoolErr = p.pool(ctx, a)
	} else {
		r.PoolErr = p.noPool
	}

	r.Body = nil // the pool is all that is kept of it
	return r
}

// pool returns the pool in a response. If the response shows no instance, pool asks again: an instance that
// is being handed over is not counted for a moment.
func (p *Prober) pool(ctx context.Context, a response) (*Pool, error) {
	pool, err := parsePool(a.Body)
	if err != nil || pool.Ready() > 0 {
		return pool, err
	}

	again, err := p.put(ctx, a.path)
	if err != nil || again.fault() != nil {
		return pool, nil // the first response stands
	}
	return parsePool(again.Body)
}

// ask asks what the last search has found. If the server seems to speak another generation, ask searches again.
func (p *Prober) ask(ctx context.Context) (response, error) {
	if p.Service != "" {
		return p.put(ctx, statusAPI+"simple/"+url.PathEscape(p.Service))
	}

	// What was found is used until connections are renewed: whatever keeps the server from answering the newest
	// generation may end.
	recent := time.Since(p.searched) < cmp.Or(p.Handshake, puppetclient.DefaultHandshake)
	question := questions(p.Environment)[0]
	if recent {
		question = p.found
	}
	first, err := p.put(ctx, question)
	if err != nil || !first.elsewhere() {
		return first, err
	}

	// The server logs each denial as an error, so a denial stands until then, too.
	if recent && first.Status == http.StatusForbidden && p.stands(first) {
		return first, nil
	}
	return p.search(ctx, first)
}

// stands reports whether another search would end with the same denial. What was denied before both sides were
// proved, as while a file of this host was missing, is searched for again once they are.
func (p *Prober) stands(denial response) bool { return p.provedAll || !denial.Proved }

// search asks the questions that first does not answer, until one is answered. If no question is, search returns a
// denial, which says more than a missing path.
func (p *Prober) search(ctx context.Context, first response) (response, error) {
	p.noPool = first.fault()
	p.denies = false
	p.provedAll = first.Proved
	p.searched = time.Time{} // until all questions are answered

	all := []response{first}
	for _, path := range questions(p.Environment) {
		if path == first.path {
			continue
		}

		a, err := p.put(ctx, path)
		if err != nil {
			return a, err
		}
		if !a.elsewhere() {
			// A service of metrics that is not running may run at the next probe, and is asked first then.
			if first.absent() {
				p.remember(path)
			}
			return a, nil
		}

		all = append(all, a)
	}
	return p.conclude(all), nil
}

// conclude returns the response that stands for a search in which no question was answered: the last denial or, if the
// server lacks all paths, the first response.
func (p *Prober) conclude(all []response) response {
	last := all[0]
	for _, a := range all {
		if a.Status == http.StatusForbidden {
			last = a
		}
	}
	if last.Status != http.StatusForbidden {
		return last
	}

	// A master that denies some questions and lacks the others may be starting, and not have all paths yet. The second
	// such denial stands.
	p.denies = deniesStatus(all)
	if p.denies || p.inPart {
		p.remember(last.path)
	}
	p.inPart = !p.denies
	return last
}

// remember notes which question is asked first until connections are renewed.
func (p *Prober) remember(question string) {
	p.found = question
	p.searched = time.Now()
}

// put puts one question.
func (p *Prober) put(ctx context.Context, path string) (response, error) {
	a, err := p.Do(ctx, path)
	return response{Response: a, path: path, named: p.Service != ""}, err
}
