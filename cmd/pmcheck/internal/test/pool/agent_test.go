//go:build linux

package pool_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	// reuse is how long an agent keeps a connection for its next request.
	reuse = 4 * time.Second
	// connectTimeout and readTimeout are an agent's http_connect_timeout, for TCP and for TLS, and
	// http_read_timeout.
	connectTimeout, readTimeout = 2 * time.Minute, 10 * time.Minute
	// retries is how often an agent obeys Retry-After for one request.
	retries = 100
)

// An agent does one run through a balancer at a time.
type agent interface {
	name() string // its certname
	run(b endpoint) error
}

// A standIn does the requests of an agent's run, as Puppet 7 does them, and
// nothing else: one connection, none of its requests tried twice unless the answer
// is Retry-After, a new connection when it paused for too long.
type standIn struct {
	certname string
	tls      *tls.Config
	net      *lab.Network
}

func (a standIn) name() string { return a.certname }

func (a standIn) run(b endpoint) error {
	s := &session{agent: a, to: b}
	defer s.close()
	const environment = "environment=production"
	list := "?recurse=true&links=follow&checksum_type=sha256&source_permissions=ignore&" + environment
	for _, step := range []struct {
		method, path, kind, body string
		before                   time.Duration
	}{
		{method: "GET", path: "node/" + a.certname + "?" + environment},
		{method: "GET", path: "file_metadatas/pluginfacts" + list},
		{method: "GET", path: "file_metadatas/plugins" + list},
		{method: "POST", path: "catalog/" + a.certname + "?" + environment,
			kind: "application/x-www-form-urlencoded", body: a.facts(), before: 500 * time.Millisecond},
		{method: "PUT", path: "report/" + a.certname + "?" + environment,
			kind: "application/json", body: a.report(), before: applyTime()},
	} {
		time.Sleep(step.before)
		if err := s.retried(step.method, "/puppet/v3/"+step.path, step.kind, step.body); err != nil {
			what, _, _ := strings.Cut(step.path, "/")
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// applyTime is how long a catalog takes to be applied: on either side of what a
// connection is kept for.
func applyTime() time.Duration {
	times := []time.Duration{200 * time.Millisecond, 2 * time.Second, reuse - 200*time.Millisecond, reuse + time.Second}
	return times[rand.N(len(times))]
}

func (a standIn) facts() string {
	facts := fmt.Sprintf(`{"name":%q,"values":{"kernel":"Linux","networking":{"fqdn":%[1]q}},"timestamp":%[2]q}`,
		a.certname, time.Now().Format(time.RFC3339))
	return url.Values{
		"environment":    {"production"},
		"facts_format":   {"application/json"},
		"facts":          {url.QueryEscape(facts)},
		"static_catalog": {"true"},
		"checksum_type":  {"sha256"},
	}.Encode()
}

func (a standIn) report() string {
	return fmt.Sprintf(`{"host":%q,"time":%q,"configuration_version":1,"report_format":12,"puppet_version":"7.23.0",
"status":"unchanged","transaction_completed":true,"noop":false,"noop_pending":false,"environment":"production",
"corrective_change":false,"logs":[],"metrics":{},"resource_statuses":{}}`, a.certname,
		time.Now().Format(time.RFC3339Nano))
}

// A session is what an agent's run has of a connection.
type session struct {
	agent standIn
	to    endpoint
	conn  *tls.Conn
	in    *bufio.Reader
	used  time.Time
}

// A later is the answer 503 with Retry-After.
type later struct{ after time.Duration }

func (l later) Error() string { return fmt.Sprintf("503, Retry-After %v", l.after) }

// retried makes a request until the answer is not Retry-After.
func (s *session) retried(method, path, kind, body string) (err error) {
	for range retries {
		var l later
		if err = s.request(method, path, kind, body); !errors.As(err, &l) {
			break
		}
		s.close()
		time.Sleep(l.after)
	}
	return err
}

// request fails unless the answer is good.
func (s *session) request(method, path, kind, body string) error {
	if err := s.connect(); err != nil {
		return err
	}
	req, err := http.NewRequest(method, "https://"+s.agent.tls.ServerName+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Puppet-Version", "7.23.0")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	s.conn.SetDeadline(time.Now().Add(readTimeout))
	if err := req.Write(s.conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(s.in, req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	s.used = time.Now()
	if after, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil {
		return later{time.Duration(after) * time.Second}
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %.120s", resp.Status, answer)
	}
	if resp.Close {
		s.close()
	}
	return err
}

// connect makes a connection unless there is one that may still be used.
func (s *session) connect() error {
	if s.conn != nil && time.Since(s.used) < reuse {
		return nil
	}
	s.close()
	var raw net.Conn
	err := s.agent.net.Inside(func() (err error) {
		raw, err = net.DialTimeout("tcp", s.to.address, connectTimeout)
		return err
	})
	if err != nil {
		return err
	}
	s.conn = tls.Client(raw, s.agent.tls)
	s.in = bufio.NewReader(s.conn)
	s.conn.SetDeadline(time.Now().Add(connectTimeout))
	return s.conn.Handshake()
}

func (s *session) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// A puppet is the real agent, on a host of its own.
type puppet struct {
	certname string
	host     *lab.Host
	options  []string
}

// newPuppet returns an agent that may run beside others on its host.
func newPuppet(certname string, host *lab.Host) puppet {
	a := puppet{certname, host, []string{"--certname=" + certname, "--ssldir=" + sslDir, "--vardir=/var/tmp/" + certname}}
	if !strings.HasPrefix(host.MustRun("puppet", "--version"), "5.") { // which has no such lock
		a.options = append(a.options, "--ssl_lockfile=/var/tmp/"+certname+".lock")
	}
	return a
}

func (a puppet) name() string { return a.certname }

func (a puppet) run(b endpoint) error {
	out, err := a.host.Run("puppet", append([]string{"agent", "--test", "--color=false", "--server=" + b.fqdn()},
		a.options...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		err = nil // it has changed something
	}
	var complaints []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Error:") {
			complaints = append(complaints, strings.TrimSpace(line))
		}
	}
	if len(complaints) > 0 {
		return fmt.Errorf("puppet agent: %s", strings.Join(complaints, " "))
	}
	return err
}
