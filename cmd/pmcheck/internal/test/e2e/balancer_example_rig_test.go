package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An example is one of examples/haproxy as it is tested: with other addresses
// and paths, and not one word more.
type example struct {
	t       *testing.T
	file    string
	network string // in place of 192.0.2
	ports   map[string]string
	text    string
	haproxy *lab.HAProxy
	masters []*exampleMaster
}

// An exampleMaster is puppet1 or puppet2 of an example.
type exampleMaster struct {
	*rig
	master *checktest.Master
}

func (m *exampleMaster) String() string { return m.address }

// newExample prepares an example and the two masters it is about. Each example
// has a loopback network of its own.
func newExample(t *testing.T, file string, network int, yaml string) *example {
	t.Helper()
	e := &example{t: t, file: file, network: fmt.Sprintf("127.18.%d", network), ports: map[string]string{}}
	for _, port := range []string{"8140", "8081", "9200", "9201"} {
		e.ports[port] = portOf(t, lab.FreeAddress(t, e.network+".1"))
	}
	data, err := os.ReadFile(filepath.Join("../../../../../examples/haproxy", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"11", "12"} {
		ip := e.network + "." + host
		echoAt(t, ip+":"+e.ports["8140"])
		echoAt(t, ip+":"+e.ports["8081"])
		m, conf := standIn(t)
		m.SetPuppetDB(false, true, true)
		r := newRig(t, "")
		r.address = ip + ":" + e.ports["9200"]
		r.configure(conf + strings.NewReplacer("AGENT", ip+":"+e.ports["9201"], "PUPPETDB", m.Address()).Replace(yaml))
		r.start()
		r.await(200, "", 20*time.Second)
		e.masters = append(e.masters, &exampleMaster{r, m})
	}
	e.text = e.rewrite(string(data))
	return e
}

// rewrite puts other addresses and paths into a configuration.
func (e *example) rewrite(text string) string {
	dir := e.t.TempDir()
	pairs := []string{"192.0.2.", e.network + ".", "bind :", "bind " + e.network + ".1:",
		"/run/haproxy/admin.sock", filepath.Join(dir, "admin.sock"), "/var/lib/haproxy/server-state", filepath.Join(dir, "state")}
	text = strings.NewReplacer(pairs...).Replace(text)
	for port, other := range e.ports {
		text = strings.NewReplacer(":"+port, ":"+other, "port "+port, "port "+other).Replace(text)
	}
	return text
}

// start starts HAProxy and waits until it has checked every server.
func (e *example) start() {
	e.t.Helper()
	lab.CheckHAProxyConfig(e.t, e.text)
	e.haproxy = lab.StartHAProxy(e.t, e.text)
	lab.RetryUntil(e.t, 10*time.Second, 20*time.Millisecond, func() error {
		stats, err := e.haproxy.Stats()
		for _, s := range stats {
			if s.Status != "UP" || strings.TrimPrefix(s.CheckStatus, "* ") != "L7OK" {
				return fmt.Errorf("HAProxy says %+v", s)
			}
		}
		return err
	})
}

// where is an address that the example binds.
func (e *example) where(host, port string) string {
	return e.network + "." + host + ":" + e.ports[port]
}

// await waits until servers, as backend/server, have a status.
func (e *example) await(what, status string, within time.Duration, servers ...string) {
	e.t.Helper()
	began := time.Now()
	for _, s := range servers {
		backend, server, _ := strings.Cut(s, "/")
		awaitServer(e.t, e.haproxy, backend, server, status, within)
	}
	measured(e.t, fmt.Sprintf("%s: %s to %s", e.file, what, status), time.Since(began))
}
