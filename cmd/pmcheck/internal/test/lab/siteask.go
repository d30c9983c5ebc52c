package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// patience is how long a restart of the daemon may keep a question of RecordOverlapping in its socket: there are
// hundreds of them, on a busy machine.
const patience = 30 * time.Second

func newClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
		Timeout:   5 * time.Second,
	}
}

// Ask sends a request as a balancer does, over a new connection. It returns the body without space
// around it. It is safe for concurrent use.
func (s *Site) Ask(path string) (code int, body string, err error) {
	return get(s.client, "http://"+s.Listen+path, nil)
}

// Answer returns the answer to a balancer, such as "503 drain", or NoAnswer. It is safe for
// concurrent use.
func (s *Site) Answer() string { return s.answerTo(s.client) }

func (s *Site) answerTo(client *http.Client) string {
	code, body, err := get(client, "http://"+s.Listen+"/", nil)
	if err != nil {
		return NoAnswer
	}
	return fmt.Sprintf("%d %s", code, body)
}

// Record records the answers to a balancer that asks at intervals of every.
func (s *Site) Record(every time.Duration) *Record {
	s.TB.Helper()
	return StartRecord(s.TB, every, s.Answer)
}

// RecordOverlapping is like Record for many balancers: a question does not wait for the
// answer to the one before. Counts and Total are valid; the order of changes is not.
func (s *Site) RecordOverlapping(every time.Duration) *Record {
	s.TB.Helper()
	patient := *s.client
	patient.Timeout = patience
	return startRecord(s.TB, every, true, func() string { return s.answerTo(&patient) })
}

// Balance starts HAProxy in the network of the site, with a configuration in
// which MASTER stands for the address of the master.
func (s *Site) Balance(haproxyConfig string) *HAProxy {
	s.TB.Helper()
	s.HAProxy = s.Net.StartHAProxy(s.TB, strings.ReplaceAll(haproxyConfig, "MASTER", s.MasterAddress()))
	return s.HAProxy
}

// A query is one request to a Puppet Server over a new connection. It accepts any server
// certificate.
type query struct {
	certname string // the server's, for SNI and Host, which must agree
	certs    []tls.Certificate
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

func (q query) get(path string) (code int, body string, err error) {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true,
			ServerName:         q.certname,
			Certificates:       q.certs,
		},
		DialContext:       q.dial,
		DisableKeepAlives: true,
	}}
	header := http.Header{"Accept": {"application/json, */*"}} // Puppet's own API requires it
	return get(&client, "https://"+q.certname+path, header)
}
