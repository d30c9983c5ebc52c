package daemon_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestEachRequestHasItsAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		request string
		code    int
		body    string
	}{
		{"bare httpchk", "OPTIONS / HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"GET 1.0", "GET / HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"GET 1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200, answer.Serving},
		{"GET 1.1 without Host, with others", "GET / HTTP/1.1\r\nUser-Agent: x\r\nHostess: y\r\n\r\n", 200, answer.Serving},
		{"HEAD", "HEAD / HTTP/1.0\r\n\r\n", 200, ""},
		{"by name", "GET /server HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"with codes", "GET /?drain=404&maint=503 HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"unknown path is not 404", "GET /sever HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"unclean path is not redirected", "GET //server HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"dots are not redirected", "GET /a/../server HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: www\r\n\r\n", 200, answer.Serving},
		{"asterisk of another method", "GET * HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"without a version", "GET /\r\n", 200, answer.Serving},
		{"as Puppet Server", "GET /status/v1/simple HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"as Puppet Server, with codes", "GET /status/v1/simple?drain=404 HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"by Puppet's name", "GET /status/v1/simple/server HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"by its old name", "GET /status/v1/simple/master HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"by its name in PE", "GET /status/v1/simple/pe-master HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"a service of Puppet's", "GET /status/v1/simple/ca HTTP/1.0\r\n\r\n", 200, answer.Serving},
		{"one that is not configured", "GET /status/v1/simple/other HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"a longer name", "GET /status/v1/simplex HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"an unclean path of Puppet's", "GET /status/v1/simple//server HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"the master's old name alone", "GET /master HTTP/1.0\r\n\r\n", 400, "unknown path"},
		{"malformed code", "GET /?drain=4o4 HTTP/1.0\r\n\r\n", 400, "a status code is a number from 200 to 599"},
		{"POST", "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 405, "method not allowed"},
		{"not HTTP", "hello\r\n\r\n", 400, "400 Bad Request"},
		{"live", "GET /live HTTP/1.0\r\n\r\n", 200, "live"},
	}
	r := start(t, func(c *config.Config) { c.Services = []string{"ca"} })
	r.waitUntil(func() bool {
		code, _ := r.ask("GET /ca HTTP/1.0\r\n\r\n")
		return code == 200
	})
	for _, tt := range tests {
		code, body := r.ask(tt.request)
		if code != tt.code || body != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.name, code, body, tt.code, tt.body)
		}
	}
	long := bufio.NewReader(r.dial("GET / HTTP/1.0\r\nX: " + strings.Repeat("x", 12<<10)))
	if line, err := long.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("long headers: %q, %v, want 431", line, err)
	}
}

func TestAnswersAreNotCached(t *testing.T) {
	t.Parallel()
	const text = "text/plain; charset=utf-8"
	tests := []struct {
		name, request string
		code          int
		kind          string // Content-Type
	}{
		{"drain", "GET /?drain=404 HTTP/1.0\r\n", 404, text},
		{"bad request", "GET /nothing HTTP/1.0\r\n", 400, text},
		{"live", "GET /live HTTP/1.0\r\n", 200, text},
		{"status", "GET /status HTTP/1.0\r\n", 200, "application/json"},
	}
	r := start(t, nil)
	r.hold(drain.Drain)
	r.waitFor(503, "drain")
	for _, tt := range tests {
		resp, _ := r.exchange(tt.request + "\r\n")
		kind, cache := resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control")
		if resp.StatusCode != tt.code || kind != tt.kind || cache != "no-store" {
			t.Errorf("%s: %s, %q, %q, want %d, %q, no-store", tt.name, resp.Status, kind, cache, tt.code, tt.kind)
		}
	}
}

func TestALoopThatHasStoppedIsNotLive(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) { c.Probe.Interval, c.Probe.MaxAge = time.Hour, -time.Hour }) // late at once
	if code, body := r.ask("GET /live HTTP/1.0\r\n\r\n"); code != 503 || body != "the probe loop has stopped" {
		t.Errorf("%d %q", code, body)
	}
}

// A loop that hangs publishes nothing: what it published last expires without it.
func TestStaleVerdictIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) { c.Probe.MaxAge = 2 * time.Second })
	r.waitFor(200, answer.Serving)
	r.stop()
	r.waitUntil(func() bool {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code == 503 && w.Body.String() == "unknown: stale"
	})
}

func TestModeAndVerdictReachTheAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.hold(drain.Drain)
	r.waitFor(503, "drain")
	r.hold(drain.Maint)
	r.waitFor(503, "maint")
	_, err := r.store.LiftAll()
	must(t, err)
	r.waitFor(200, answer.Serving)
	r.master.Set(checktest.Stopped) // the kept connection ends: no tick is needed
	r.waitFor(503, "unhealthy: refused")
}

// On a slow machine the checks take so long that the loop asks meanwhile, in its own time.
func TestChecksCauseNoProbes(t *testing.T) {
	r := start(t, nil)
	before, began := r.master.Questions(), time.Now()
	for range 1000 {
		r.ask("GET / HTTP/1.0\r\n\r\n")
	}
	took := time.Since(began)
	most := 1 + 2*int(took/time.Second) // a probe and a count of the JRubies each second would be more than by default
	if asked := int(r.master.Questions() - before); asked > most {
		t.Errorf("1000 checks in %v caused %d probes, want at most %d", took, asked, most)
	}
}

func TestAllowLimitsClientsAndTheStatusSaysWhom(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) {
		c.Listen = "0.0.0.0:0"
		c.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("127.0.0.8/30")}
		c.StatusAllow = []netip.Prefix{}
	})
	_, port, _ := net.SplitHostPort(r.Address().String())
	for from, allowed := range map[string]bool{"127.0.0.1": true, "127.0.0.9": true, "127.0.0.2": false} {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
		resp, err := client.Get("http://127.0.0.1:" + port + "/")
		if (err == nil) != allowed {
			t.Errorf("from %s: %v, want an answer: %v", from, err, allowed)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	refused := r.Status(time.Now()).Refused
	if refused.Allow < 1 || len(refused.From) != 1 || refused.From[0].Source != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("the status says %+v", refused)
	}
}

// A balancer whose check is refused would take this master out, or never hear of a drain, and neither be seen.
func TestRefusedBalancerIsInTheStatusAndTheMetrics(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.ask("GET /puppet HTTP/1.0\r\nX-Haproxy-Server-State: UP; name=puppet/m1; node=lb1\r\n\r\n")
	r.ask("GET /once HTTP/1.0\r\n\r\n")

	st := r.Status(time.Now())
	if n := len(st.Refused.Balancers()); n != 1 || st.Refused.From[0].Asked != "GET /puppet HTTP/1.0" {
		t.Errorf("the status says %+v", st.Refused)
	}
	const warning = `it asks "GET /puppet HTTP/1.0", which is answered 400`
	if len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], warning) {
		t.Errorf("the warnings are %q", st.Warnings)
	}
	if got := st.State("server"); got != "in service; what asks is refused" {
		t.Errorf("the state is %q", got)
	}
	const metric = `pmcheck_refused_connections_total{by="request"} 1`
	if _, body := r.ask("GET /metrics HTTP/1.0\r\n\r\n"); !strings.Contains(body, metric) {
		t.Errorf("the metrics lack %s", metric)
	}
}

func TestLinkLocalClientsMatchNetworks(t *testing.T) {
	client := front.Address(netip.MustParseAddrPort("[fe80::1%eth0]:40000"))
	for _, network := range config.Default().Allow {
		if network.Addr().Is6() && !network.Contains(client) {
			t.Errorf("%s is not in %s, the default of allow", client, network)
		}
	}
}

func TestStatusIsOneStructEverywhere(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	code, body := r.ask("GET /status HTTP/1.0\r\n\r\n")
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	var st status.Status
	if err := decoder.Decode(&st); err != nil || code != 200 {
		t.Fatalf("%d, %v: %s", code, err, body)
	}
	s := st.Services[0]
	if s.Name != "server" || s.Mode != drain.Ready || s.Verdict.Health != check.Healthy || s.Answer.Code != 200 {
		t.Errorf("service %+v", s)
	}
	if st, err := r.client.Status(t.Context()); err != nil || st.Certname != r.master.Name {
		t.Errorf("over the socket: %v, certname %q", err, st.Certname)
	}
}
