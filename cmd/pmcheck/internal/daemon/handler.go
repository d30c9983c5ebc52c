package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/metrics"
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
	if r.Header["Via"] != nil { // a cache is on the way
		w.Header()["Cache-Control"] = []string{"no-store"}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
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
		h.check(w, r, path[min(1, len(path)):])
	}
}

// check answers a balancer.
func (h *handler) check(w http.ResponseWriter, r *http.Request, name string) {
	s := h.monitor.State()
	service, known := s.Service(name)
	if !known {
		// Not 404, which some balancers take for an orderly drain.
		h.answer(w, r, http.StatusBadRequest, "unknown path")
		return
	}
	codes, problem := answer.ParseCodes(r.URL.RawQuery)
	if problem != "" {
		h.answer(w, r, http.StatusBadRequest, problem)
		return
	}
	now := time.Now()
	mode, _ := s.Mode(name, now)
	decide := func(spare bool) answer.Answer {
		return answer.Decide(mode, service.Verdict.At(now), codes, spare)
	}
	if wantsPage(r) && h.mayReadStatus(r) && h.servePage(w, decide(true).Code, now) {
		return
	}
	a, delay := decide(true), time.Duration(0)
	if h.isBalancer(r) {
		a, delay = h.balancers.Answer(balancer.Check{
			Source:        remote(r),
			Service:       name,
			DrainCode:     codes.ForDrain(),
			MaintCode:     codes.ForMaint(),
			UnhealthyCode: codes.ForUnhealthy(),
			View:          view(r),
			Listed:        len(h.settings.Load().Balancers) > 0, // then only listed sources are believed
		}, balancer.NewRule(s, name, h.settings.Load().MaxOut, now), decide, now)
	}
	time.Sleep(delay)
	_, since := s.Serving(service, now)
	w.Header()["Last-Modified"] = []string{since.UTC().Format(http.TimeFormat)}
	h.answer(w, r, a.Code, a.Body)
}

// answer answers a check and counts it.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, code int, body string) {
	line(w, code, body)
	h.metrics.Answered(code, h.client(r))
}

func (h *handler) client(r *http.Request) metrics.Client {
	switch {
	case h.trusted:
		return metrics.Socket
	case view(r) != "":
		return metrics.HAProxy
	}
	return metrics.Other
}

// isBalancer reports whether a client may be a balancer: not one of the unix socket, and not another
// master that asks on its way out.
func (h *handler) isBalancer(r *http.Request) bool {
	agent := r.Header["User-Agent"]
	return !h.trusted && h.believed(remote(r)) && !(len(agent) > 0 && agent[0] == status.FleetAgent)
}

func (h *handler) live(w http.ResponseWriter) {
	if h.monitor.State().Live(time.Now()) {
		line(w, http.StatusOK, "live")
		return
	}
	line(w, http.StatusServiceUnavailable, "the probe loop has stopped")
}

// serveStatus answers with the status. On the unix socket, it first waits until the
// revision differs from the one that the client names.
func (h *handler) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !h.mayReadStatus(r) {
		line(w, http.StatusForbidden, "not allowed: see status_allow")
		return
	}
	if after := r.URL.Query().Get("after"); after != "" && h.trusted {
		revision, err := strconv.ParseUint(after, 10, 64)
		if err != nil {
			line(w, http.StatusBadRequest, "after must be a revision")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), status.HeldFor)
		h.changes.wait(ctx, revision)
		cancel()
	}
	data, err := json.MarshalIndent(h.Status(time.Now()), "", "  ")
	if err != nil {
		h.Log.Error("cannot encode the status", "error", err)
		line(w, http.StatusInternalServerError, "status cannot be shown")
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Cache-Control"] = []string{"no-store"}
	w.Write(append(data, '\n'))
}

// servePage shows a browser what a balancer would be told, with everything
// behind it, and reports whether that worked. A browser is not counted or
// remembered as a balancer.
func (h *handler) servePage(w http.ResponseWriter, code int, now time.Time) bool {
	if err := h.page.Write(w, code, h.Status(now), h.history.Last(now)); err != nil {
		h.Log.Error("cannot render the page", "error", err)
		return false
	}
	return true
}

// wantsPage reports whether a browser asks. A client that sends HAProxy's view is not a
// browser, whatever else it sends.
func wantsPage(r *http.Request) bool {
	accept := r.Header["Accept"]
	return len(accept) > 0 && strings.Contains(accept[0], "text/html") &&
		r.URL.Path == "/" && r.Method != http.MethodOptions && view(r) == ""
}

// view returns what HAProxy says of this master; empty if nothing. The name of the header is in
// its canonical form, which Header.Get would make anew for each answer.
func view(r *http.Request) string {
	if said := r.Header[balancer.StateHeader]; len(said) > 0 {
		return said[0]
	}
	return ""
}

func (h *handler) mayReadStatus(r *http.Request) bool {
	if h.trusted {
		return true
	}
	addr := remote(r)
	return addr.IsLoopback() || contains(h.settings.Load().StatusAllow, addr)
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
