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

// A puppetAgent makes runs as Puppet's agent does: it requests its node and its catalog
// over one kept connection, and closes it. It trusts any master, so that one agent can
// use masters of two CAs.
type puppetAgent struct {
	name  string
	certs []tls.Certificate
}

// newAgent returns an agent with a certificate for name from each of the masters.
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
	// Without a ServerName no SNI is sent: the agent cannot know which master answers.
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

// runs are the runs of agents in the background. It records when the last one ended.
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

// loop makes runs, one after the other, until a time. The last one is finished.
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
		r.t.Errorf("agent %s through %s: %v", a.name, address, err)
	}
}
