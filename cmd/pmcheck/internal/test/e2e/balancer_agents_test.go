//go:build linux

package e2e_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An agent runs as Puppet's does: it asks who it is and for its catalog, over
// one kept connection, and hangs up. It trusts any master, so that one
// agent may meet masters of two CAs.
type puppetAgent struct {
	name  string
	certs []tls.Certificate
}

// newAgent has each of the masters sign a certificate for name.
func newAgent(t *testing.T, name string, masters ...*lab.PuppetServer) *puppetAgent {
	t.Helper()
	a := &puppetAgent{name: name}
	for _, s := range masters {
		files := s.IssueCert(name, nil)
		cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		a.certs = append(a.certs, cert)
	}
	return a
}

// run makes one run against address. It may be called concurrently.
func (a *puppetAgent) run(address string) error {
	// Without a ServerName no SNI is sent: which master answers is not known.
	transport := &http.Transport{
		MaxConnsPerHost: 1,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: a.certs},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 3 * time.Minute}
	base := "https://" + address + "/puppet/v3/"
	if err := a.ask(client, http.MethodGet, base+"node/"+a.name+"?environment=production", ""); err != nil {
		return err
	}
	facts := fmt.Sprintf(`{"name":%q,"values":{"clientcert":%q},`+
		`"timestamp":"2026-01-01T00:00:00Z","expiration":"2036-01-01T00:00:00Z"}`, a.name, a.name)
	form := url.Values{
		"environment":  {"production"},
		"facts_format": {"application/json"},
		"facts":        {url.QueryEscape(facts)},
	}
	return a.ask(client, http.MethodPost, base+"catalog/"+a.name+"?environment=production", form.Encode())
}

func (a *puppetAgent) ask(client *http.Client, method, address, body string) error {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.200s", method, req.URL.Path, resp.Status, answer)
	}
	return err
}

// runs are runs under way. The last to end is remembered.
type runs struct {
	t     *testing.T
	group sync.WaitGroup

	mu   sync.Mutex
	n    int
	last time.Time
}

// start starts a run in the background.
func (r *runs) start(a *puppetAgent, address string) {
	r.group.Go(func() { r.one(a, address) })
}

// loop makes runs until a time, and ends with the last one.
func (r *runs) loop(a *puppetAgent, address string, until time.Time) {
	r.group.Go(func() {
		for time.Now().Before(until) {
			r.one(a, address)
		}
	})
}

func (r *runs) one(a *puppetAgent, address string) {
	err := a.run(address)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if ended := time.Now(); ended.After(r.last) {
		r.last = ended
	}
	if err != nil {
		r.t.Errorf("agent %s by way of %s: %v", a.name, address, err)
	}
}
