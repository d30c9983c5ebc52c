package peers_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A row is what PuppetDB says of one node.
type row map[string]any

// rows returns what PuppetDB says of all nodes.
func (s assignSite) rows() (rows []row) {
	for i := range assignedNodes {
		rows = append(rows, row{"facts.networking.ip": nodeAddress(i), "facts.puppet_master": assigned(i)})
	}
	return rows
}

// A relay is a PuppetDB that answers what a test wants.
type relay struct {
	t       *testing.T
	handler atomic.Pointer[http.HandlerFunc]
}

// startRelay has the balancer ask a relay until the test ends.
func (s assignSite) startRelay() *relay {
	s.t.Helper()
	r := &relay{t: s.t}
	var listener net.Listener
	lab.Must(s.t, s.net.Inside(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(lab.BridgeAddress, "8082"))
		return err
	}))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		(*r.handler.Load())(w, req)
	})}
	const name = "relay.lab.example"
	go server.Serve(tls.NewListener(listener, s.ca.TLS(name)))
	s.lb.WriteFile("/etc/hosts", s.lb.MustRun("cat", "/etc/hosts")+"\n"+lab.BridgeAddress+" "+name+"\n", 0o644)
	s.configure(name + ":8082")
	s.t.Cleanup(func() {
		server.Close()
		s.configure(s.puppetdb())
		s.lb.MustRun("install", "-m", "0644", "/dev/null", assignMap)
		s.assign()
	})
	return r
}

// answer has the relay answer these rows.
func (r *relay) answer(rows []row) {
	body, err := json.Marshal(rows)
	lab.Must(r.t, err)
	r.answerWith(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
}

func (r *relay) answerWith(handler http.HandlerFunc) { r.handler.Store(&handler) }

// body is an answer with this code that has the body only and promises more if length exceeds it.
func body(code int, text string, length int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(length))
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

func (s assignSite) testDoubt() {
	rows := s.rows()
	half, err := json.Marshal(rows[:assignedNodes/2])
	lab.Must(s.t, err)
	less, err := json.Marshal(rows[:assignedNodes/2-1])
	lab.Must(s.t, err)
	whole := string(half)
	before := s.inUse()
	r := s.startRelay()
	for _, doubt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"cut off", body(200, whole, len(whole)+1), "bytes remaining"},
		{"cut off between chunks", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "curl: ("},
		{"half of the JSON", body(200, whole[:len(whole)/2], len(whole)/2), "parse error"},
		{"no list", body(200, `{"error": "x"}`, 14), "Cannot index string"},
		{"empty", body(200, "", 0), "PuppetDB assigns 0 nodes, the last map 10000: the last map stays"},
		{"an error", body(503, whole, len(whole)), "503"},
		{"no nodes", body(200, "[]", 2), "PuppetDB assigns 0 nodes, the last map 10000: the last map stays"},
		{"under half", body(200, string(less), len(less)), "PuppetDB assigns 4999 nodes, the last map 10000"},
	} {
		s.t.Run(doubt.name, func(t *testing.T) {
			in := s
			in.t = t
			r.answerWith(doubt.answer)
			in.assertRefused(doubt.want)
			in.assertSame(before)
		})
	}
	r.answer(rows[:assignedNodes/2])
	s.assign()
	if n := len(s.inUse()); n != assignedNodes/2 {
		s.t.Errorf("half of the nodes: the map has %d", n)
	}
}

// assertRefused runs the unit, which must fail and say this.
func (s assignSite) assertRefused(want string) {
	s.t.Helper()
	seen := len(s.lb.Journal("haproxy-assign"))
	if out, err := s.lb.Run("systemctl", "start", "haproxy-assign.service"); err == nil {
		s.t.Errorf("the unit has not failed: %s", out)
	}
	waitFor(s.t, func() error {
		if log := s.lb.Journal("haproxy-assign")[seen:]; !strings.Contains(log, want) {
			return fmt.Errorf("the journal lacks %q:\n%s", want, log)
		}
		return nil
	})
}
