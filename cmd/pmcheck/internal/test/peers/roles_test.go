//go:build linux

package peers_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestHAProxySendsEachNameToItsRole: HAProxy reads the name in the first packet of a handshake. A demo has no service
// ca, so that backend is checked as the others are.
func TestHAProxySendsEachNameToItsRole(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const canary = "192.0.2.22"
	n := network(t, front, first, third, canary)
	for _, address := range []string{first, third, canary} {
		lab.StartDemo(t, n, address)
	}
	haproxy := n.StartHAProxy(t, strings.Replace(lab.Read(t, example(t, "haproxy/roles.cfg")), "/ca?", "/?", 1))
	haproxy.WaitStatus("puppet", "puppet2", "DOWN", time.Minute) // it is not there
	for role, server := range map[string]string{
		"puppet":       "puppet1",
		"puppetca":     "puppet1",
		"puppetreport": "puppet3",
		"canary":       "puppet4",
	} {
		haproxy.WaitStatus(role, server, "UP", time.Minute)
		conn, err := n.DialContext(t.Context(), "tcp", front+":8140")
		if err != nil {
			t.Fatal(err)
		}
		agent := tls.Client(conn, &tls.Config{ServerName: role + ".example.com", InsecureSkipVerify: true})
		err = agent.Handshake()
		agent.Close()
		if sent := haproxy.Stat(role, server).SessionsTotal; err != nil || sent != 1 {
			t.Errorf("HAProxy sent %d connections for %s to %s, want 1 (%v)", sent, role, server, err)
		}
	}
}
