package e2e_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An example is one of examples/haproxy as it is tested: with other addresses
// and paths, and nothing else changed.
type example struct {
	t       *testing.T
	file    string
	network string // in place of 192.0.2
	text    string
	haproxy *lab.HAProxy
	sites   []*lab.Site // of puppet1 and puppet2
}

// newExample prepares an example without its masters. Each example has a loopback network of its own.
func newExample(t *testing.T, file string, network int) *example {
	t.Helper()
	e := &example{t: t, file: file, network: fmt.Sprintf("127.18.%d", network)}
	e.text = e.rewrite(lab.ReadFile(t, filepath.Join("examples/haproxy", file)))
	return e
}

// startMaster starts a master of the example, at the address that ends with host. Agents that connect there get an
// echo.
func (e *example) startMaster(host, yaml string) {
	e.t.Helper()
	site := lab.NewSite(e.t, lab.SiteOptions{Listen: e.where(host, "9200")})
	standIn := "localhost:" + lab.Port(e.t, site.MasterAddress()) // it is PuppetDB, too
	site.Configure(strings.ReplaceAll(yaml, "localhost:8081", standIn))
	site.Master.SetPuppetDB("running")
	site.Master.SetService("broker-service", "running")
	startEchoAt(e.t, e.where(host, "8140"))
	startEchoAt(e.t, e.where(host, "8081"))
	startEchoAt(e.t, e.where(host, "8142"))
	site.Start()
	site.WaitServing(20 * time.Second)
	e.sites = append(e.sites, site)
}

func (e *example) rewrite(text string) string {
	dir := e.t.TempDir()
	return strings.NewReplacer(
		"192.0.2.", e.network+".",
		"bind :", "bind "+e.network+".1:",
		"/run/haproxy/admin.sock", filepath.Join(dir, "admin.sock"),
		"/run/haproxy-server-state", filepath.Join(dir, "state"),
	).Replace(text)
}

func (e *example) start() {
	e.t.Helper()
	e.haproxy = lab.StartHAProxy(e.t, e.text)
	e.haproxy.WaitEach(10*time.Second, lab.ServerStat.Healthy)
}

// assertTurns asserts that pmcheck on each master finds the backends of the example complete: none of its balancers
// lacks a backend in which masters take turns.
func (e *example) assertTurns() {
	e.t.Helper()
	for _, s := range e.sites {
		s.WaitStatus(20*time.Second, func(status lab.Status) error {
			for _, b := range status.Balancers {
				if b.View != nil && (b.View.State != "UP" || b.View.Steps > 0) {
					return fmt.Errorf("the view of %s is not settled: %+v", b.Name, b.View)
				}
			}
			for _, w := range status.Warnings {
				if strings.Contains(w, "0-turn") {
					return errors.New(w)
				}
			}
			return nil
		})
	}
}

func (e *example) where(host, port string) string {
	return e.network + "." + host + ":" + port
}

// waitFor waits until servers, as backend/server, have a status.
func (e *example) waitFor(what, status string, within time.Duration, servers ...string) {
	e.t.Helper()
	began := time.Now()
	for _, s := range servers {
		backend, server, _ := strings.Cut(s, "/")
		e.haproxy.WaitStatus(backend, server, status, within)
	}
	e.t.Logf("measured: %s: %s to %s: %v", e.file, what, status, time.Since(began).Round(time.Millisecond))
}
