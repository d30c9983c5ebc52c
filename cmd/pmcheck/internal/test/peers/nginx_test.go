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

// startNginx tests and starts nginx with an example.
func startNginx(t *testing.T, n *lab.Network, name string) {
	t.Helper()
	program := lab.Need(t, "nginx", "nginx-light")
	if _, err := os.Stat("/usr/lib/nginx/modules/ngx_stream_module.so"); err != nil {
		t.Fatalf("%v (apt-get install --no-install-recommends libnginx-mod-stream)", err)
	}
	args := []string{"-c", example(t, name), "-e", "stderr", "-g", "daemon off; pid " + filepath.Join(t.TempDir(), "pid") + ";"}
	must(t, n.Command(program, append(args, "-t")...))
	start(t, n.Command(program, args...))
	await(t, func() error { _, err := signature(n, balanced); return err })
}

// await waits for something that is soon to be.
func await(t *testing.T, fn func() error) {
	t.Helper()
	lab.RetryUntil(t, 30*time.Second, 100*time.Millisecond, fn)
}

// signature makes a connection and returns what tells the certificate that is
// shown from others: each stand-in has a CA of its own.
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

// reached makes some connections through the balancer and returns how many
// went to each master.
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

func awaitReached(t *testing.T, n *lab.Network, want func(map[string]int) bool) {
	t.Helper()
	await(t, func() error {
		if counts := reached(t, n, first, second); !want(counts) {
			return fmt.Errorf("connections go to %v", counts)
		}
		return nil
	})
}

func both(c map[string]int) bool        { return c[first] > 0 && c[second] > 0 }
func secondAlone(c map[string]int) bool { return c[first] == 0 && c[second] > 0 }

func TestNginx(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second, names, balanced)
	one := startDemo(t, n, first)
	startDemo(t, n, second)
	t.Run("stream", func(t *testing.T) {
		startNginx(t, n, "nginx/stream.conf")
		awaitReached(t, n, both)
		one.become("drain", "drain")
		if counts := reached(t, n, first, second); !both(counts) {
			t.Errorf("connections go to %v: nginx follows a drain, and the example says that it does not", counts)
		}
		one.become("stopped", "drain")
		await(t, func() error {
			if _, err := signature(n, first); err == nil {
				return errors.New("the master is still there")
			}
			return nil
		})
		awaitReached(t, n, secondAlone) // and no connection failed
		one.become("running", "drain")
		await(t, func() error { _, err := signature(n, first); return err })
		one.become("ready", fit)
	})
	t.Run("dns", func(t *testing.T) {
		dns := startGdnsd(t, n)
		startNginx(t, n, "nginx/dns.conf")
		dns.await(first, second)
		awaitReached(t, n, both)
		one.become("drain", "drain")
		awaitReached(t, n, secondAlone)
		one.become("ready", fit)
		awaitReached(t, n, both)
	})
}
