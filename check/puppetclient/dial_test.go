package puppetclient_test

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// withoutNames runs a program with a resolver that knows no name, not even localhost.
const withoutNames = `set -e
for file in /etc/hosts /etc/resolv.conf /etc/nsswitch.conf; do mount --bind /dev/null "$file"; done
exec "$@"`

// TestLocalhostNeedsNoResolver runs itself once more on a host that knows no name: whatever 127.0.0.1 or ::1 has is
// found there by the name localhost.
func TestLocalhostNeedsNoResolver(t *testing.T) {
	const inside = "PMCHECK_TEST_WITHOUT_NAMES"
	if os.Getenv(inside) == "" {
		args := []string{"--user", "--map-root-user", "--mount", "sh", "-c", withoutNames, "sh"}
		if err := exec.Command("unshare", append(args, "true")...).Run(); err != nil {
			t.Skip("no namespaces here: ", err)
		}
		again := exec.Command("unshare", append(args, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")...)
		again.Env = append(os.Environ(), inside+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}

	if found, err := net.LookupHost("localhost"); err == nil {
		t.Fatalf("the resolver knows localhost: %v", found)
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		for _, name := range []string{"localhost", "LocalHost"} {
			conn, err := puppetclient.Dial(t.Context(), name+":"+port)
			if err != nil {
				t.Errorf("%s: %s: %v", host, name, err)
				continue
			}
			conn.Close()
		}

		l.Close()
		c := puppetclient.Client{Address: "localhost:" + port, Credentials: &puppetclient.Credentials{}, Timeout: time.Second}
		if _, err := c.Do(t.Context(), "/"); err == nil || err.(*puppetclient.Error).Reason != puppetclient.Refused {
			t.Errorf("%s: a closed port: %v, want %s", host, err, puppetclient.Refused)
		}
	}
}
