package daemon

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// ServeHTTP answers everything on a TCP port. It does not use http.ServeMux, which answers an unclean path with a
// redirect: HAProxy takes that for a healthy server.
func (d *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// No cache on the way answers for the master.
	w.Header().Set("Cache-Control", "no-store")

	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		line(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}

	switch r.URL.Path {
	case "/live":
		d.live(w)
	case "/status":
		if !d.mayReadStatus(r) {
			line(w, http.StatusForbidden, "not allowed: see status_allow, and ask for an address or a name of this host")
			return
		}
		d.serveStatus(w, r)
	case "/metrics":
		d.metrics.ServeHTTP(w, r)
	default:
		d.check(w, r, d.serviceOf(r))
	}
}

// simple is the path under which Puppet Server answers checks of its own port.
const simple = "/status/v1/simple"

// serviceOf returns the service that a check asks for, or what stands in its place. It may ask as it would ask Puppet
// Server, which calls the master by another name in each generation and in PE, or for *, as HAProxy's manual has it.
func (d *Daemon) serviceOf(r *http.Request) drain.Service {
	path := r.URL.Path
	if path == "/" || path == simple {
		return drain.Master
	}
	if path == "*" && r.Method == http.MethodOptions {
		return drain.Master
	}

	name, ofPuppet := strings.CutPrefix(path, simple+"/")
	if !ofPuppet {
		return drain.Service(strings.TrimPrefix(path, "/"))
	}

	service := drain.Service(name)
	_, configured := d.monitor.State().Service(service)
	if !configured && (name == "master" || name == "pe-master") {
		return drain.Master
	}
	return service
}

// check answers a balancer. A browser that may read the status gets the page instead.
func (d *Daemon) check(w http.ResponseWriter, r *http.Request, service drain.Service) {
	s := d.monitor.State()
	now := time.Now()
	moment, known := s.At(service, now)
	codes, problem := answer.ParseCodes(r.URL.RawQuery)
	if !known {
		problem = "unknown path" // not 404, which some balancers take for an orderly drain
	}
	if problem != "" {
		d.answer(w, http.StatusBadRequest, problem)
		return
	}

	decide := func(mayLose bool) answer.Answer { return answer.Decide(moment, codes, mayLose) }
	if wantsPage(r) && d.mayReadStatus(r) { // and is not counted as a balancer
		d.servePage(w, decide(true).Code)
		return
	}

	settings := d.settings.Load() // once: a reload may replace them meanwhile
	byView := moment.Leaving == drain.LeavingByView
	a := decide(!byView) // a client that is no balancer has no say
	shift := time.Duration(0)
	if tracker := d.tracker(settings, r); tracker != nil {
		c := balancer.Check{
			Source:  remote(r),
			Service: service,
			URI:     r.RequestURI,
			Codes:   codes.Filled(),
			Header:  view(r),
			Listed:  len(settings.Balancers) > 0 && tracker == &d.balancers,
		}
		a, shift = tracker.Answer(c, balancer.NewRule(moment, s.Leaves(now), settings.MaxOut), decide)
	}

	if isMaster(r) {
		w.Header().Set(fleet.NameHeader, settings.Probe.Certname)
	}

	// Answers of masters whose checks are in step must not fall into the same moment.
	time.Sleep(rand.N(shift + 1))
	w.Header().Set("Last-Modified", moment.InServiceSince.UTC().Format(http.TimeFormat))
	d.answer(w, a.Code, a.Body)
}

func (d *Daemon) servePage(w http.ResponseWriter, code int) {
	document, err := d.pages.get(d, d.page.Render)
	if err != nil {
		line(w, http.StatusInternalServerError, "cannot render the page: "+err.Error())
		return
	}
	document.Write(w, code)
}

func (d *Daemon) answer(w http.ResponseWriter, code int, body string) {
	line(w, code, body)
	d.metrics.Answered(code)
}

// tracker returns the tracker that remembers a client; nil if the client is not taken for a balancer. Another master
// that asks on its way out of the pool is not. A client that the setting balancers does not list is taken for a
// balancer only if it sends a view.
func (d *Daemon) tracker(c *config.Config, r *http.Request) *balancer.Tracker {
	if isMaster(r) {
		return nil
	}
	if believed(c, remote(r)) {
		return &d.balancers
	}
	if view(r) == "" || !remote(r).IsValid() {
		return nil
	}
	return &d.unlisted
}

// isMaster reports whether another master asks on its way out of the pool.
func isMaster(r *http.Request) bool { return r.Header.Get("User-Agent") == fleet.UserAgent }

func (d *Daemon) live(w http.ResponseWriter) {
	if !d.monitor.State().Live(time.Now()) {
		line(w, http.StatusServiceUnavailable, "the probe loop has stopped")
		return
	}
	line(w, http.StatusOK, "live")
}

// serveStatus answers with the status. On the unix socket there is nothing else.
func (d *Daemon) serveStatus(w http.ResponseWriter, _ *http.Request) {
	data, err := d.json.get(d, status.Encode)
	if err != nil {
		line(w, http.StatusInternalServerError, "cannot encode the status: "+err.Error())
		return
	}

	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

// wantsPage reports whether a browser asks. A client that sends HAProxy's view is not a
// browser, whatever else it sends.
func wantsPage(r *http.Request) bool {
	asksForRoot := r.URL.Path == "/" && r.Method != http.MethodOptions
	takesHTML := strings.Contains(r.Header.Get("Accept"), "text/html")
	return asksForRoot && takesHTML && view(r) == ""
}

// view returns what HAProxy says of this master; empty if nothing.
func view(r *http.Request) string { return r.Header.Get(balancer.StateHeader) }

func (d *Daemon) mayReadStatus(r *http.Request) bool {
	addr := remote(r)
	listed := contains(d.settings.Load().StatusAllow, addr)
	if d.namesThisHost(r) {
		return listed || addr.IsLoopback()
	}
	return listed && addr.IsLoopback() // a proxy on this host passes on another name
}

// remote returns the address of a client.
func remote(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return front.Address(peer)
}

// line writes an answer of one line, without its end, which would break the lines of HAProxy's "show stat". It leaves
// the headers to net/http, which detects text/plain: setting them would cost a tenth of the whole answer.
func line(w http.ResponseWriter, code int, body string) {
	w.WriteHeader(code)
	io.WriteString(w, body)
}
