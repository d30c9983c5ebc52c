//go:build linux

package peers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const balanced = "192.0.2.10" // where the examples' balancers listen

// startNginx checks an example with nginx -t and starts nginx with it.
func startNginx(t *testing.T, n *lab.Network, name string) {
	t.Helper()
	program := lab.Need(t, "nginx", "nginx-light")
	if _, err := os.Stat("/usr/lib/nginx/modules/ngx_stream_module.so"); err != nil {
		t.Fatalf("%v (apt-get install --no-install-recommends libnginx-mod-stream)", err)
	}
	args := []string{"-c", example(t, name), "-e", "stderr", "-g",
		"daemon off; pid " + filepath.Join(t.TempDir(), "pid") + ";"}
	must(t, n.Command(program, append(args, "-t")...))
	lab.StartProgram(t, n.Command(program, args...))
	waitFor(t, func() error { _, err := signature(n, balanced); return err })
}

// waitFor polls with the timeout of these tests.
func waitFor(t *testing.T, fn func() error) {
	t.Helper()
	lab.WaitFor(t, 30*time.Second, 100*time.Millisecond, fn)
}

// signature makes a connection and returns the signature of the server's certificate.
// It identifies the master, since each simulated master has a CA of its own.
func signature(n *lab.Network, address string) (string, error) {
	raw, err := n.DialContext(context.Background(), "tcp", address+":8140")
	if err != nil {
		return "", err
	}
	defer raw.Close()
	if err := raw.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		return "", err
	}
	return string(conn.ConnectionState().PeerCertificates[0].Signature), nil
}

// reached makes connections through the balancer and returns how many of them each master
// got.
func reached(t *testing.T, n *lab.Network, masters ...string) map[string]int {
	t.Helper()
	const connections = 12
	shown := map[string]string{}
	for _, m := range masters {
		s, err := signature(n, m)
		if err != nil {
			continue // it is stopped
		}
		shown[s] = m
	}
	counts := map[string]int{}
	for range connections {
		s, err := signature(n, balanced)
		if err != nil {
			t.Fatal(err)
		}
		counts[shown[s]]++
	}
	return counts
}

func waitForReached(t *testing.T, n *lab.Network, want func(map[string]int) bool) {
	t.Helper()
	waitFor(t, func() error {
		if counts := reached(t, n, first, second); !want(counts) {
			return fmt.Errorf("connections go to %v", counts)
		}
		return nil
	})
}

func both(c map[string]int) bool        { return c[first] > 0 && c[second] > 0 }
func secondAlone(c map[string]int) bool { return c[first] == 0 && c[second] > 0 }

func TestNginxSendsNothingToAMasterThatIsOut(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second, names, balanced)
	one := lab.StartDemo(t, n, first)
	lab.StartDemo(t, n, second)
	t.Run("stream", func(t *testing.T) {
		startNginx(t, n, "nginx/stream.conf")
		waitForReached(t, n, both)
		one.Type("drain", "drain")
		if counts := reached(t, n, first, second); !both(counts) {
			t.Errorf("connections go to %v: nginx follows a drain, although the example says that it does not", counts)
		}
		one.Type("stopped", "drain")
		waitFor(t, func() error {
			if _, err := signature(n, first); err == nil {
				return errors.New("the stopped master still accepts connections")
			}
			return nil
		})
		waitForReached(t, n, secondAlone) // fails the test if a connection fails
		one.Type("running", "drain")
		waitFor(t, func() error { _, err := signature(n, first); return err })
		one.Type("ready", serving)
	})
	t.Run("dns", func(t *testing.T) {
		dns := startGdnsd(t, n)
		startNginx(t, n, "nginx/dns.conf")
		dns.waitFor("puppet", first, second)
		waitForReached(t, n, both)
		one.Type("drain", "drain")
		waitForReached(t, n, secondAlone)
		one.Type("ready", serving)
		waitForReached(t, n, both)
	})
}
