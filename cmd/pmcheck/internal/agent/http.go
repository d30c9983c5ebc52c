package agent

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// handler answers everything on the TCP port, and on the unix socket. Paths
// are looked up by hand: http.ServeMux answers an unclean path with a
// redirect, and a redirect is good news to HAProxy.
type handler struct {
	state     *atomic.Pointer[state]
	access    *atomic.Pointer[access]
	balancers *balancers
	status    func(now time.Time) Status
	metrics   http.Handler
	page      *Page
	history   *history
	count     func(code int, client clientKind)
	trusted   bool // on the unix socket, where the file's permissions decide
	log       *slog.Logger
}

// access says who may read what.
type access struct {
	allow  []netip.Prefix // may ask at all
	status []netip.Prefix // may read /status, besides loopback
	// balancers are believed what they say of us; all if empty.
	balancers []netip.Prefix
}

var noStore = []string{"no-store"}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header["Via"] != nil { // a cache on the way says who it is
		w.Header()["Cache-Control"] = noStore
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		h.line(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	switch path := r.URL.Path; path {
	case "/":
		h.check(w, r, Server)
	case "/live":
		h.live(w)
	case "/status":
		h.serveStatus(w, r)
	case "/metrics":
		h.metrics.ServeHTTP(w, r)
	default:
		h.check(w, r, path[min(1, len(path)):])
	}
}

// check answers a balancer.
func (h *handler) check(w http.ResponseWriter, r *http.Request, name string) {
	s := h.state.Load()
	service, known := s.find(name)
	if !known {
		// Not 404, which some balancers take for an orderly drain.
		h.refuse(w, r, "unknown path")
		return
	}
	codes, problem := parseCodes(r.URL.RawQuery)
	if problem != "" {
		h.refuse(w, r, problem)
		return
	}
	now := time.Now()
	a := s.answer(service, codes, now)
	if wantsPage(r) && h.mayReadStatus(r) && h.servePage(w, a.Code, now) {
		return
	}
	h.line(w, a.Code, a.Body)
	view := r.Header.Get(stateHeader)
	h.count(a.Code, h.kind(view))
	h.remember(r, name, view, a, now)
}

// refuse answers a check that makes no sense.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, problem string) {
	h.line(w, http.StatusBadRequest, problem)
	h.count(http.StatusBadRequest, h.kind(r.Header.Get(stateHeader)))
}

func (h *handler) kind(view string) clientKind {
	switch {
	case h.trusted:
		return clientSocket
	case view != "":
		return clientHAProxy
	}
	return clientOther
}

// remember notes who was told what. On the unix socket there are no balancers.
func (h *handler) remember(r *http.Request, service, view string, a Answer, now time.Time) {
	if h.trusted {
		return
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return
	}
	source := peer.Addr().Unmap()
	if from := h.access.Load().balancers; len(from) == 0 || contains(from, source) {
		h.balancers.record(source, service, view, a, now)
	}
}

func (h *handler) live(w http.ResponseWriter) {
	if h.state.Load().live(time.Now()) {
		h.line(w, http.StatusOK, "live")
		return
	}
	h.line(w, http.StatusServiceUnavailable, "the probe loop has stopped")
}

func (h *handler) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !h.mayReadStatus(r) {
		h.line(w, http.StatusForbidden, "not allowed: see status_allow")
		return
	}
	now := time.Now()
	data, err := json.MarshalIndent(h.status(now), "", "  ")
	if err != nil {
		h.log.Error("status", "error", err)
		h.line(w, http.StatusInternalServerError, "status cannot be shown")
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Cache-Control"] = noStore
	w.Write(append(data, '\n'))
}

// servePage shows a person what a balancer would be told, with everything
// behind it, and reports whether that worked. A person is not counted or
// remembered as a balancer.
func (h *handler) servePage(w http.ResponseWriter, code int, now time.Time) bool {
	if err := h.page.Write(w, code, h.status(now), h.history.last(now)); err != nil {
		h.log.Error("page", "error", err)
		return false
	}
	return true
}

func (h *handler) mayReadStatus(r *http.Request) bool {
	if h.trusted {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap()
	return addr.IsLoopback() || contains(h.access.Load().status, addr)
}

// line writes an answer of one line. The headers are left to net/http, which
// finds text/plain by itself: to touch them costs a tenth of the whole answer.
func (h *handler) line(w http.ResponseWriter, code int, body string) {
	w.WriteHeader(code)
	io.WriteString(w, body+"\n")
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
