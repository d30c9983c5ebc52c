//go:build linux

package versions_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// headersConfig is followed by the backends. HAProxy only checks their servers, and the test answers
// the checks. They time out later than the test does.
const headersConfig = `
global
    node lb1
defaults
    mode tcp
    timeout connect 5s
    timeout server 30m
    timeout check 5m
    balance leastconn
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server inter 200ms fall 3 rise 2 weight 100 check addr 127.0.0.1 port PORT
`

// headersFile has the recorded headers.
const headersFile = "cmd/pmcheck/internal/balancer/testdata/haproxy.txt"

// headersComment is the beginning of that file.
const headersComment = `# X-Haproxy-Server-State in each state, the value exactly as HAProxy 2.2 to 3.4 sends it.
# TestHeadersOfEachRelease in test/versions compares it with the HAProxy of each release; with LAB_PROOF
# set, it writes this file. A backend has two servers, own and peer, with fall 3, rise 2 and weight 100 if
# the state names no other; the state is that of own. In parentheses is the status in "show stat" at that
# moment. A status code is the answer to the latest check.
`

// A backend has one or two servers, own and peer. Each line of its script is what happens to own, or to the
// peer, and the name of the state after it: an answer to its check, "up" for as many as bring it up, "down" for as
// many as take it down, "healthy" for a first answer to both, or a command of the administrator.
type backend struct {
	name      string
	own, peer string // options of the servers
	alone     bool   // there is no peer
	script    string
}

func backends() []backend {
	const ramp, ramp1 = "slowstart 10000s", "slowstart 10000s weight 1" // 1% for more than a minute
	both := "healthy, down, peer down, up, peer up, 200 = slowstart of both"
	return []backend{
		{name: "fall", script: `= starting
			healthy = up
			503 = going down 1
			503 = going down 2
			503 = down
			200 = coming up
			200 = up again`},
		{name: "recover", script: `healthy, 503, 503, 200 = going down 2, then 200
			503, 404 = going down 1, then 404`},
		{name: "start-404", script: "404, peer 200 = starting, then 404"}, // HAProxy starts or reloads while it is out
		{name: "start-503", script: "503, peer 200 = starting, then 503"},
		{name: "refused", script: `healthy, down, 404 = down, then 404
			200, 404 = coming up, then 404
			down, peer down, 503 = both down`},
		{name: "nolb", script: `healthy, 404 = nolb
			peer 404, 404 = both nolb
			200 = back from nolb, peer nolb
			peer down, 404 = nolb, peer down`},
		{name: "nolb-fall", script: `healthy, 404, 503 = nolb, going down 1
			503, 503 = nolb, then down`},
		{name: "slowstart", own: ramp, script: "healthy, down, up = slowstart"},
		{name: "slowstart-nolb", own: ramp, script: "healthy, 404, 200 = slowstart after nolb"},
		{name: "slowstart-both", own: ramp, peer: ramp, script: both},
		{name: "slowstart-1-both", own: ramp1, peer: ramp1, script: both + ", weights of 1"},
		{name: "drain", script: `healthy, set own state drain, 200 = drained by its administrator
			peer 404, 200 = drained by its administrator, peer nolb`},
		{name: "backup", own: "backup", script: `healthy = unused backup
			peer 404, 200 = used backup, peer nolb
			peer 200, peer down, 200 = used backup, peer down
			404 = backup nolb, peer down`},
		{name: "weight-0-set", script: `healthy, set own weight 0, 200 = weight 0 by its administrator
			peer 404, 200 = weight 0 by its administrator, peer nolb`},
		{name: "alone", alone: true, script: `200 = the only server
			404 = the only server nolb
			down = the only server down`},
	}
}

// play leads the servers through the states of the script and records the headers.
func (p *pair) play() {
	for line := range strings.Lines(p.script) {
		actions, state, _ := strings.Cut(strings.TrimSpace(line), "= ")
		for action := range strings.SplitSeq(actions, ",") {
			p.do(strings.TrimSpace(action))
		}
		p.record(state)
	}
}

func (p *pair) do(action string) {
	s := p.own
	if of, is := strings.CutPrefix(action, "peer "); is {
		s, action = p.peer, of
	}
	switch code, err := strconv.Atoi(action); {
	case err == nil:
		s.answer(code)
	case action == "up":
		s.up()
	case action == "down":
		s.down()
	case action == "healthy":
		p.own.answer(200)
		p.peer.answer(200)
	case action != "":
		p.set(strings.TrimPrefix(action, "set "))
	}
}

// TestHeadersOfEachRelease compares the header that HAProxy sends in each state with the recorded
// one, which the tests of package balancer read. If LAB_PROOF is set, it records those of the first release
// that it tries.
func TestHeadersOfEachRelease(t *testing.T) {
	lab.Real(t)
	record := os.Getenv("LAB_PROOF") != ""
	for _, release := range lab.HAProxyReleases() {
		t.Run(release.Suite, func(t *testing.T) {
			servers := checks{}
			for _, b := range backends() {
				for _, name := range []string{b.name + "/own", b.name + "/peer"} {
					servers[name] = &server{tb: t, name: name, headers: make(chan string), answers: make(chan int)}
				}
			}
			web := httptest.NewServer(servers)
			t.Cleanup(web.Close)
			_, port, _ := strings.Cut(strings.TrimPrefix(web.URL, "http://"), ":")
			config := strings.ReplaceAll(headersConfig, "PORT", port) + configure(backends())
			root := release.StartChroot(t)
			socket := &admin{haproxy: root.StartHAProxy(config)}

			recorded := make([]string, len(backends()))
			var playing sync.WaitGroup
			for i, b := range backends() {
				p := &pair{
					admin:   socket,
					backend: b,
					own:     servers[b.name+"/own"],
					peer:    servers[b.name+"/peer"],
				}
				playing.Go(func() {
					defer func() { recorded[i] = p.recorded.String() }()
					p.play()
				})
			}
			playing.Wait()
			switch headers := strings.Join(recorded, ""); {
			case t.Failed():
			case record:
				record = false
				lab.Write(t, lab.File(t, headersFile), headersComment+headers)
			default:
				compareHeaders(t, root.MustRun("haproxy", "-v"), headers)
			}
		})
	}
}

// configure returns the sections of the backends.
func configure(list []backend) string {
	var b strings.Builder
	for _, be := range list {
		fmt.Fprintf(&b, "backend %s\n    server own 192.0.2.1:8140 %s\n", be.name, be.own)
		if !be.alone {
			fmt.Fprintf(&b, "    server peer 192.0.2.2:8140 %s\n", be.peer)
		}
	}
	return b.String()
}

// compareHeaders compares the headers of a release with the recorded ones, which are those of every release.
func compareHeaders(t *testing.T, version, headers string) {
	t.Helper()
	want := slices.DeleteFunc(strings.SplitAfter(lab.ReadFile(t, headersFile), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "#")
	})
	if diff := cmp.Diff(want, strings.SplitAfter(headers, "\n")); diff != "" {
		t.Errorf("HAProxy %s (+) against the recorded headers (-):\n%s", version, diff)
	}
}

// A pair is a backend under test.
type pair struct {
	backend
	admin     *admin
	own, peer *server
	recorded  strings.Builder
}

// set changes a server of the backend, as an administrator does.
func (p *pair) set(what string) {
	if answer := strings.TrimSpace(p.admin.command("set server " + p.name + "/" + what)); answer != "" {
		p.own.fail("set server %s: %s", what, answer)
	}
}

// record notes the headers of the checks that wait for their answer. That of the peer is of a check
// after the last answer to own.
func (p *pair) record(state string) {
	p.own.await()
	servers := []*server{p.own}
	if !p.alone {
		p.peer.again()
		p.peer.await()
		servers = append(servers, p.peer)
	}
	status, err := p.admin.status()
	if err != nil {
		p.own.fail("%v", err)
	}
	p.recorded.WriteString(state + "\n")
	for _, s := range servers {
		fmt.Fprintf(&p.recorded, "  %s (%s): %s\n", strings.TrimPrefix(s.name, p.name+"/"), status[s.name], s.header)
	}
}

// admin is the socket of an HAProxy. It is safe for concurrent use: HAProxy serves ten at a time.
type admin struct {
	mu      sync.Mutex
	haproxy *lab.HAProxy
}

// command sends one command and returns the answer.
func (a *admin) command(text string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.haproxy.Admin(text)
}

// status returns the status of each server, by backend/server.
func (a *admin) status() (map[string]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stats, err := a.haproxy.Stats()
	status := map[string]string{}
	for _, s := range stats {
		status[s.Backend+"/"+s.Server] = s.Status
	}
	return status, err
}

// A server receives the health checks of one server of a backend. HAProxy waits for the answer to
// each one, which the test gives. The next check shows what came of the answer.
type server struct {
	tb      testing.TB
	name    string      // backend/server
	headers chan string // of each check
	answers chan int    // to it

	header string // of the check that waits for its answer; empty if none does
	code   int    // the last answer
}

// answer answers the check that waits, and waits for the next one.
func (s *server) answer(code int) {
	s.await()
	select {
	case s.answers <- code:
	case <-time.After(slow):
		s.fail("the check was given up before it was answered %d", code)
	}
	s.header, s.code = "", code
	s.await()
}

// again gives the last answer once more, so that the header is that of a later check.
func (s *server) again() {
	if s.code != 0 {
		s.answer(s.code)
	}
}

// await waits for a check.
func (s *server) await() {
	if s.header != "" {
		return
	}
	select {
	case s.header = <-s.headers:
	case <-time.After(slow):
		s.fail("no check within %v", slow)
	}
}

// down gives as many refusals as take the server out.
func (s *server) down() {
	for range 3 {
		s.answer(503)
	}
}

// up gives as many good answers as bring the server back.
func (s *server) up() {
	s.answer(200)
	s.answer(200)
}

// fail ends the goroutine that leads the backend, which is not that of the test.
func (s *server) fail(format string, args ...any) {
	s.tb.Errorf("%s: %s", s.name, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// checks hands each health check to its server. It is safe for concurrent use.
type checks map[string]*server

func (c checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get(balancer.StateHeader)
	_, rest, _ := strings.Cut(header, "; name=")
	name, _, _ := strings.Cut(rest, ";")
	s := c[name]
	if s == nil {
		http.Error(w, "unknown server", http.StatusBadRequest)
		return
	}
	select {
	case s.headers <- header:
	case <-r.Context().Done():
		return
	}
	select {
	case code := <-s.answers:
		w.WriteHeader(code)
	case <-r.Context().Done():
	}
}
