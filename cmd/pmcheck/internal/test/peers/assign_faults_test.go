//go:build linux

package peers_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A row is what PuppetDB says of one node.
type row map[string]any

func node(name, address string, master any) row {
	return row{"certname": name, "facts.networking.ip": address, "facts.puppet_master": master}
}

// rows returns PuppetDB's answer to the example's query.
func (s *assignSite) rows() (rows []row) {
	s.t.Helper()
	_, query, _ := strings.Cut(lab.Read(s.t, example(s.t, "haproxy/assign/haproxy-assign.conf")), "\nquery = ")
	query, _, _ = strings.Cut(query, "\n")
	began := time.Now()
	resp, err := s.client.Get(s.puppetdb("/pdb/query/v4?" + url.Values{"query": {query}}.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("PuppetDB answers the query with %d kB in %v", len(body)/1000, time.Since(began).Round(time.Millisecond))
	if err := json.Unmarshal(body, &rows); err != nil {
		s.t.Fatal(err)
	}
	return rows
}

// A relay is a PuppetDB that answers what a test wants.
type relay struct {
	s      *assignSite
	lb     *lab.Host // the balancer that asks it
	before []string  // the balancer's map
	answer atomic.Pointer[http.HandlerFunc]
}

const relayName = "relay.lab.example"

// startRelay has the first balancer ask a relay, and stops its timer.
func (s *assignSite) startRelay() *relay {
	s.t.Helper()
	r := &relay{s: s, lb: s.balancers[0]}
	r.before = s.show(r.lb)
	var listener net.Listener
	err := s.net.Inside(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(lab.BridgeAddress, "8082"))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		(*r.answer.Load())(w, req)
	})}
	go server.Serve(tls.NewListener(listener, s.ca.TLS(relayName)))
	r.lb.MustRun("systemctl", "stop", "haproxy-assign.timer")
	hosts := r.lb.MustRun("cat", "/etc/hosts")
	r.lb.WriteFile("/etc/hosts", hosts+"\n"+lab.BridgeAddress+" "+relayName+"\n", 0o644)
	s.configure(r.lb, relayName+":8082")
	s.t.Cleanup(func() {
		server.Close()
		s.configure(r.lb, net.JoinHostPort(s.db.Host.FQDN(), "8081"))
		r.lb.MustRun("systemctl", "start", "haproxy-assign.timer")
		r.lb.MustRun("systemctl", "start", "haproxy-assign.service")
	})
	return r
}

// rowsAre has the relay answer these rows.
func (r *relay) rowsAre(rows []row) {
	r.answers(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(rows) })
}

// answers sets the relay's answer.
func (r *relay) answers(answer http.HandlerFunc) { r.answer.Store(&answer) }

// refused runs the unit, which must fail with this error and leave the map as it is.
func (s *assignSite) refused(h *lab.Host, before []string, want string) {
	s.t.Helper()
	seen := len(h.Journal("haproxy-assign"))
	if out, err := h.Run("systemctl", "start", "haproxy-assign.service"); err == nil {
		s.t.Errorf("the unit has not failed: %s", out)
	}
	lab.WaitFor(s.t, 10*time.Second, 100*time.Millisecond, func() error {
		if log := h.Journal("haproxy-assign")[seen:]; !strings.Contains(log, want) ||
			!strings.Contains(log, "the last map stays") {
			return fmt.Errorf("the journal lacks %q:\n%s", want, log)
		}
		return nil
	})
	if after := s.show(h); !sameEntries(before, after) {
		s.t.Errorf("HAProxy's map had %d nodes and has %d, or other ones", len(before), len(after))
	}
	if file := strings.Split(h.MustRun("cat", assignMap), "\n"); !sameEntries(before, file) {
		s.t.Errorf("HAProxy's map had %d nodes, the file has %d, or other ones", len(before), len(file))
	}
}

func (s *assignSite) testRefused() {
	rows := s.rows()
	whole, err := json.Marshal(rows)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.startRelay()
	// write answers with a status code, and with less than it promises if whole is longer than body.
	write := func(code int, body []byte, length int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(length))
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	half := whole[:len(whole)/2]
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"cut off", write(200, half, len(whole)), "PuppetDB's answer ends too early"},
		{"cut off between chunks", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "PuppetDB's answer ends too early"},
		{"half of the JSON", write(200, half, len(half)), "PuppetDB's answer is not JSON"},
		{"no rows", write(200, []byte(`{"error": "x"}`), 14), "PuppetDB's answer is not a list of nodes"},
		{"error", write(503, []byte("no\x1b[2J"), 6), `PuppetDB answers 503: 'no\x1b[2J'`},
		{"no nodes", write(200, []byte("[]"), 2), "PuppetDB has a server for 0 nodes, the last map for 10000"},
	} {
		s.t.Run(test.name, func(t *testing.T) {
			in := *s
			in.t = t
			r.answers(test.answer)
			in.refused(r.lb, r.before, test.want)
		})
	}
	r.rowsAre(rows[:len(rows)/2])
	s.refused(r.lb, r.before, "PuppetDB has a server for 5000 nodes, the last map for 10000; if that is right")
	r.lb.MustRun("haproxy-assign", "--shrink")
	if got := len(s.show(r.lb)); got != len(rows)/2 {
		s.t.Errorf("with --shrink, the map has %d nodes, want %d", got, len(rows)/2)
	}
	if got := len(s.show(s.balancers[1])); got != len(rows) {
		s.t.Errorf("the other balancer has %d nodes, want %d", got, len(rows))
	}
}

// testForeign: nodes can claim what they like. Nothing but single addresses and the names of
// servers gets into the map, and one node's nonsense does not keep the others from it.
func (s *assignSite) testForeign() {
	rows := s.rows()
	r := s.startRelay()
	r.rowsAre(append(rows,
		node("every address", "0.0.0.0/0", "puppet1"),
		node("two entries", "192.0.2.77 puppet1\n192.0.2.78", "puppet1"),
		node("no address", ":::1", "puppet1"),
		row{"certname": "a number", "facts.networking.ip": 7, "facts.puppet_master": "puppet1"},
		node("no server", "192.0.2.77", "puppet9"),
		node("command", "192.0.2.77", "puppet1\n\nshutdown sessions server puppet/puppet1"),
		node("not text", "192.0.2.77", []string{"puppet1"}),
		node("no wish", "192.0.2.77", nil),
		node("IPv6", "2001:DB8:0::0:1", "puppet2"),
		node("node 5's address", nodeAddress(5), "puppet2"),
	))
	seen := len(r.lb.Journal("haproxy-assign"))
	r.lb.MustRun("systemctl", "start", "haproxy-assign.service")
	want := slices.DeleteFunc(append(r.before, "2001:db8::1 puppet2"), func(entry string) bool {
		return strings.HasPrefix(entry, nodeAddress(5)+" ") // two nodes claim it
	})
	if got := s.show(r.lb); !sameEntries(got, want) {
		s.t.Errorf("the map has %d nodes, want %d, or other ones", len(got), len(want))
	}
	lab.WaitFor(s.t, 10*time.Second, 100*time.Millisecond, func() error {
		said := `nodes left out: 8; 'every address' has the address '0.0.0.0/0'; ` +
			`'two entries' has the address '192.0.2.77 puppet1\n192.0.2.78'`
		if log := r.lb.Journal("haproxy-assign")[seen:]; !strings.Contains(log, said) {
			return fmt.Errorf("the journal lacks %q:\n%s", said, log)
		}
		return nil
	})
}

func (s *assignSite) testDatabaseDown() {
	before := s.show(s.balancers[0])
	s.db.Host.MustRun("systemctl", "stop", s.db.Database)
	s.t.Cleanup(func() { s.db.Host.MustRun("systemctl", "start", s.db.Database) })
	s.refused(s.balancers[0], before, "PuppetDB")
	s.stillGoes()
}

func (s *assignSite) testPuppetDBDown() {
	s.db.Host.MustRun("systemctl", "kill", "--signal=KILL", "puppetdb")
	s.db.Host.MustRun("systemctl", "stop", "puppetdb")
	for _, h := range s.balancers {
		s.refused(h, s.show(h), "cannot ask PuppetDB: [Errno 111] Connection refused")
	}
	s.stillGoes()
	s.testReload() // HAProxy reads the last map from disk
}

// stillGoes checks that the last map is used.
func (s *assignSite) stillGoes() {
	s.t.Helper()
	for i, master := range map[int]string{1: "puppet1", 2: "puppet2", 3: "puppet2"} {
		if err := s.goesTo(i, master); err != nil {
			s.t.Error(err)
		}
	}
}
