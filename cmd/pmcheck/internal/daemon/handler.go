package daemon

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// handler answers everything on a TCP port, or on the unix socket. It does not use
// http.ServeMux, which answers an unclean path with a redirect: HAProxy takes that for a
// healthy server.
type handler struct {
	*Daemon
	trusted bool // the unix socket
}

func (d *Daemon) handler(trusted bool) http.Handler { return &handler{d, trusted} }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store") // not even one on the way answers for the master
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		line(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	switch path := r.URL.Path; path {
	case "/":
		h.check(w, r, monitor.Server)
	case "/live":
		h.live(w)
	case "/status":
		h.serveStatus(w, r)
	case "/metrics":
		h.metrics.ServeHTTP(w, r)
	default:
		h.check(w, r, strings.TrimPrefix(path, "/"))
	}
}

func (h *handler) check(w http.ResponseWriter, r *http.Request, name string) {
	s := h.monitor.State()
	service, known := s.Service(name)
	codes, problem := answer.ParseCodes(r.URL.RawQuery)
	if !known {
		problem = "unknown path" // not 404, which some balancers take for an orderly drain
	}
	if problem != "" {
		h.answer(w, r, http.StatusBadRequest, problem)
		return
	}
	now := time.Now()
	mode, _ := s.Holds.Mode(name, now)
	decide := func(spare bool) answer.Answer {
		return answer.Decide(mode, service.Verdict.At(now), codes, spare)
	}
	if wantsPage(r) && h.mayReadStatus(r) { // a browser is not counted as a balancer
		document, err := h.pages.get(h.Daemon, h.page.Render)
		if err != nil {
			line(w, http.StatusInternalServerError, "cannot render the page: "+err.Error())
			return
		}
		document.Write(w, decide(true).Code)
		return
	}
	a, delay := decide(true), time.Duration(0)
	if h.isBalancer(r) {
		a, delay = h.balancers.Answer(balancer.Check{
			Source:  remote(r),
			Service: name,
			URI:     r.RequestURI,
			Codes:   codes.Filled(),
			View:    view(r),
			Listed:  len(h.settings.Load().Balancers) > 0, // then only listed sources are believed
		}, balancer.NewRule(s.Holds, name, h.settings.Load().MaxOut, now), decide)
	}
	time.Sleep(delay)
	w.Header().Set("Last-Modified", s.ServingSince(service, now).UTC().Format(http.TimeFormat))
	h.answer(w, r, a.Code, a.Body)
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request, code int, body string) {
	line(w, code, body)
	h.metrics.Answered(code, h.client(r))
}

func (h *handler) client(r *http.Request) string {
	switch {
	case h.trusted:
		return "socket"
	case view(r) != "":
		return "haproxy"
	}
	return "other"
}

// isBalancer reports whether a client may be a balancer: not one of the unix socket, and not another
// master that asks on its way out.
func (h *handler) isBalancer(r *http.Request) bool {
	return !h.trusted && h.believed(remote(r)) && r.Header.Get("User-Agent") != status.FleetAgent
}

func (h *handler) live(w http.ResponseWriter) {
	if !h.monitor.State().Live(time.Now()) {
		line(w, http.StatusServiceUnavailable, "the probe loop has stopped")
		return
	}
	line(w, http.StatusOK, "live")
}

func (h *handler) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !h.mayReadStatus(r) {
		line(w, http.StatusForbidden, "not allowed: see status_allow")
		return
	}
	data, err := h.json.get(h.Daemon, encode)
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
	return strings.Contains(r.Header.Get("Accept"), "text/html") &&
		r.URL.Path == "/" && r.Method != http.MethodOptions && view(r) == ""
}

// view returns what HAProxy says of this master; empty if nothing.
func view(r *http.Request) string { return r.Header.Get(balancer.StateHeader) }

func (h *handler) mayReadStatus(r *http.Request) bool {
	addr := remote(r)
	return h.trusted || addr.IsLoopback() || contains(h.settings.Load().StatusAllow, addr)
}

// remote returns the address of a client, which is not valid on the unix socket.
func remote(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return front.Address(peer)
}

// line writes an answer of one line. It leaves the headers to net/http, which detects
// text/plain: setting them would cost a tenth of the whole answer.
func line(w http.ResponseWriter, code int, body string) {
	w.WriteHeader(code)
	io.WriteString(w, body+"\n")
}
