//go:build linux

package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A question is one request, which can be sent to any master.
type question struct {
	name      string
	method    string // empty means GET
	path      string
	host      string // empty means the master's certname
	anonymous bool   // without a client certificate
}

// A reply is what pmcheck reads of an answer: the body matters where the
// status code alone does not settle the verdict.
type reply struct {
	Code    int
	Body    string
	Refused bool // with a TLS alert
}

func questions() []question {
	return []question{
		{name: "all services", path: "/status/v1/simple"},
		{name: "server", path: "/status/v1/simple/server"},
		{name: "master", path: "/status/v1/simple/master"},
		{name: "no such service", path: "/status/v1/simple/nonsense"},
		{name: "HEAD", method: http.MethodHead, path: "/status/v1/simple"},
		{name: "OPTIONS", method: http.MethodOptions, path: "/status/v1/simple"},
		{name: "POST", method: http.MethodPost, path: "/status/v1/simple"},
		{name: "host other than SNI", path: "/status/v1/simple/server", host: "127.0.0.1:8140"},
		{name: "anonymous", path: "/status/v1/simple", anonymous: true},
		{name: "anonymous server", path: "/status/v1/simple/server", anonymous: true},
		{name: "anonymous HEAD", method: http.MethodHead, path: "/status/v1/simple", anonymous: true},
		{name: "Puppet 4 to 6", path: "/puppet/v3/status/pmcheck?environment=production"},
		{name: "Puppet 4 to 6, anonymous", path: "/puppet/v3/status/pmcheck?environment=production", anonymous: true},
		{name: "Puppet 3", path: "/production/status/no_key"},
		{name: "Puppet 3, anonymous", path: "/production/status/no_key", anonymous: true},
	}
}

// testStandIn compares the stand-in master, which most tests and the demo use,
// with the real one.
func testStandIn(t *testing.T, s *lab.PuppetServer) {
	m := lab.StartStandIn(t, lab.StandInName)
	for _, q := range questions() {
		t.Run(q.name, func(t *testing.T) { q.compare(t, s, m) })
	}
}

// compare sends a question to both masters and fails the test unless the replies are
// equal.
func (q question) compare(t *testing.T, s *lab.PuppetServer, m *checktest.Master) {
	t.Helper()
	files := s.CertFiles(s.Certname())
	want := q.put(t, s.Address(), s.Certname(), files.Cert, files.Key)
	got := q.put(t, m.Address(), m.Name, m.Files().Certificate, m.Files().Key)
	measured(t, "Puppet Server replies", fmt.Sprintf("%+v", want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the stand-in replies differently (- real, + stand-in):\n%s", diff)
	}
}

// put asks a master over a connection of its own, and returns its reply.
func (q question) put(t *testing.T, address, certname, cert, key string) reply {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, ServerName: certname}
	if !q.anonymous {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig:   config,
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	req, err := http.NewRequest(q.method, "https://"+certname+q.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if q.host != "" {
		req.Host = q.host
	}
	req.Header.Set("Accept", "application/json, pson")
	resp, err := client.Do(req)
	if alert := new(net.OpError); errors.As(err, &alert) && alert.Op == "remote error" {
		return reply{Refused: true}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return reply{Code: resp.StatusCode}
	}
	return reply{Code: resp.StatusCode, Body: string(body)}
}
