package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
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
type agent interface{ run(b endpoint) error }

// A standIn does the requests of an agent's run, as Puppet 7 does them, and
// nothing else: one connection, none of its requests tried twice unless the answer
// is Retry-After, a new connection when it paused for too long.
type standIn struct {
	certname string
	tls      *tls.Config
	net      *lab.Network
}

func (a standIn) run(b endpoint) error {
	client := a.client(b)
	defer client.CloseIdleConnections()
	const environment = "environment=production"
	// A catalog takes less or more time to be applied than a connection is kept.
	apply := []time.Duration{200 * time.Millisecond, 2 * time.Second, reuse - 200*time.Millisecond, reuse + time.Second}
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
			kind: "application/json", body: a.report(), before: apply[rand.N(len(apply))]},
	} {
		time.Sleep(step.before)
		if err := a.request(client, step.method, step.path, step.kind, step.body); err != nil {
			what, _, _ := strings.Cut(step.path, "/")
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func (a standIn) client(b endpoint) *http.Client {
	return &http.Client{Timeout: 2*connectTimeout + readTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return a.net.Dial(ctx, net.Dialer{Timeout: connectTimeout}, network, b.address())
		},
		TLSClientConfig:       a.tls,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: readTimeout,
		IdleConnTimeout:       reuse,
	}}
}

// request makes a request, again while the answer is Retry-After, and fails unless the last answer is good.
func (a standIn) request(client *http.Client, method, path, kind, body string) error {
	for range retries {
		// net/http sends no request again, after its connection ended, whose body it cannot read again.
		once := struct{ io.Reader }{strings.NewReader(body)}
		req, err := http.NewRequest(method, "https://"+a.tls.ServerName+"/puppet/v3/"+path, once)
		if err != nil {
			return err
		}
		req.ContentLength = int64(len(body))
		req.Header = http.Header{"Accept": {"application/json"}, "X-Puppet-Version": {"7.23.0"}}
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		after, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		switch {
		case err != nil:
			return err
		case bad == nil:
			client.CloseIdleConnections()
			time.Sleep(time.Duration(after) * time.Second)
		case resp.StatusCode/100 == 2:
			return nil
		default:
			return fmt.Errorf("%s %.120s", resp.Status, answer)
		}
	}
	return fmt.Errorf("Retry-After, %d times", retries)
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

// A puppet is the real agent, on a host of its own.
type puppet struct {
	host    *lab.Host
	options []string
}

// newPuppet returns an agent that may run beside others on its host.
func newPuppet(certname string, host *lab.Host) puppet {
	own := "/var/tmp/" + certname
	return puppet{host, []string{"--certname=" + certname, "--ssldir=" + sslDir, "--vardir=" + own,
		"--ssl_lockfile=" + own + ".lock"}}
}

func (a puppet) once(options ...string) (string, error) {
	return a.host.Run("puppet", slices.Concat([]string{"agent", "--color=false"}, a.options, options)...)
}

func (a puppet) run(b endpoint) error {
	out, err := a.once("--test", "--server="+b.fqdn())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		err = nil // it has changed something
	}
	if i := strings.Index(out, "Error:"); i >= 0 {
		return fmt.Errorf("puppet agent: %s", out[i:])
	}
	return err
}
