package versions_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	model "github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
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

const headersFile = "cmd/pmcheck/internal/balancer/testdata/haproxy.txt"

// A pair is the servers of a backend, which is named after the state that they are led to.
type pair struct {
	model.Case
	backend   string
	own, peer *server
}

// TestHeadersOfEachRelease leads the servers of HAProxy to each state, and compares the headers that it sends with the
// recorded ones, which other tests read.
func TestHeadersOfEachRelease(t *testing.T) {
	lab.Real(t)
	_, recorded, _ := strings.Cut(lab.ReadFile(t, headersFile), "\n"+model.Cases()[0].State+"\n")
	for _, release := range tried(lab.HAProxyReleases(), "forky") {
		t.Run(release.Suite, func(t *testing.T) {
			servers := checks{}
			web := httptest.NewServer(servers)
			t.Cleanup(web.Close)
			config := strings.ReplaceAll(headersConfig, "PORT", lab.Port(t, web.Listener.Addr().String()))
			var pairs []pair
			for _, c := range model.Cases() {
				p := pair{Case: c, backend: strings.NewReplacer(" ", "-", ",", "").Replace(c.State)}
				p.own = servers.add(t, p.backend+"/own")
				config += fmt.Sprintf("backend %s\n    server own 192.0.2.1:8140 %s\n", p.backend, c.Options)
				if !c.Alone {
					p.peer = servers.add(t, p.backend+"/peer")
					config += fmt.Sprintf("    server peer 192.0.2.2:8140 %s\n", strings.TrimPrefix(c.Options, "backup"))
				}
				pairs = append(pairs, p)
			}
			root := release.StartChroot(t)
			haproxy := root.StartHAProxy(config)
			sent := ""
			for _, p := range pairs {
				sent += p.lead(t, haproxy)
			}
			sent = strings.TrimPrefix(sent, model.Cases()[0].State+"\n")
			if diff := cmp.Diff(strings.Split(recorded, "\n"), strings.Split(sent, "\n")); diff != "" {
				t.Errorf("%s (+) against the recorded headers (-):\n%s", lab.Output(t, root.Command("haproxy", "-v")), diff)
			}
		})
	}
}

// lead leads the servers to their state, and returns the headers of the checks that wait for their answer, with the
// status of each server in "show stat". The header of the peer is of a check after the last answer to own.
func (p pair) lead(t *testing.T, haproxy *lab.HAProxy) string {
	t.Helper()
	for _, code := range p.Peer {
		p.peer.answer(code)
	}
	for _, code := range p.Own {
		p.own.answer(code)
	}
	if p.Command != "" {
		command := "set server " + p.backend + "/own " + p.Command
		if answer := strings.TrimSpace(haproxy.Admin(command)); answer != "" {
			t.Fatalf("%s: %s", command, answer)
		}
		p.own.again()
	}
	p.own.await()
	text := fmt.Sprintf("%s\n  own (%s): %s\n", p.State, haproxy.Stat(p.backend, "own").Status, p.own.header)
	if !p.Alone {
		p.peer.again()
		p.peer.await()
		text += fmt.Sprintf("  peer (%s): %s\n", haproxy.Stat(p.backend, "peer").Status, p.peer.header)
	}
	return text
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
	s.tb.Helper()
	s.await()
	select {
	case s.answers <- code:
	case <-time.After(slow):
		s.tb.Fatalf("%s: the check was given up before it was answered %d", s.name, code)
	}
	s.header, s.code = "", code
	s.await()
}

// again gives the last answer, if there is one, once more, so that the header is that of a later check.
func (s *server) again() {
	if s.code != 0 {
		s.answer(s.code)
	}
}

func (s *server) await() {
	s.tb.Helper()
	if s.header != "" {
		return
	}
	select {
	case s.header = <-s.headers:
	case <-time.After(slow):
		s.tb.Fatalf("%s: no check within %v", s.name, slow)
	}
}

// checks hands each health check to its server. It is safe for concurrent use once all are added.
type checks map[string]*server

func (c checks) add(tb testing.TB, name string) *server {
	c[name] = &server{tb: tb, name: name, headers: make(chan string), answers: make(chan int)}
	return c[name]
}

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

// TestExamplesInEachRelease: the HAProxy of each release accepts every example, and README.md behind what the package
// has in haproxy.cfg, without a warning.
func TestExamplesInEachRelease(t *testing.T) {
	lab.Real(t)
	_, readme, _ := strings.Cut(lab.ReadFile(t, "README.md"), "```haproxy\n")
	readme, _, _ = strings.Cut(readme, "```")
	configs := map[string]string{"README.md": readme}
	files, err := filepath.Glob(lab.File(t, "examples/haproxy/*.cfg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		configs[filepath.Base(file)] = lab.Read(t, file)
	}
	for _, release := range tried(lab.HAProxyReleases(), "forky") {
		t.Run(release.Suite, func(t *testing.T) {
			root, dir := release.StartChroot(t), t.TempDir()
			lab.Write(t, filepath.Join(dir, "state"), "1\n")
			here := strings.NewReplacer("/run/haproxy-server-state", filepath.Join(dir, "state"),
				"/run/haproxy/admin.sock", filepath.Join(dir, "admin.sock"), "192.0.2.53:", "127.0.0.1:")
			for name, text := range configs {
				config := filepath.Join(dir, name)
				lab.Write(t, config, here.Replace(text))
				args := []string{"-c", "-f", config}
				if name == "README.md" {
					args = []string{"-c", "-f", "/etc/haproxy/haproxy.cfg", "-f", config}
				}
				if out := lab.Output(t, root.Command("haproxy", args...)); strings.Contains(out, "[WARNING]") {
					t.Errorf("%s:\n%s", name, out)
				}
			}
		})
	}
}
