package gate_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestGateRefusesNewConnections: over IPv4 and IPv6, from everywhere but this host and the
// networks in gate.except, and only while the master is held: a table that comes from somewhere else is removed. What
// cleans up after a gate that ends is tested with its unit.
func TestGateRefusesNewConnections(t *testing.T) {
	h := newGatedHost(t, "gate: {except: [192.0.2.3, 2001:db8:1::/48]}\n")
	before, err := h.connect(far4, near4)
	lab.Must(t, err)
	defer before.Close()
	h.start()
	assertDials := func(want error) {
		t.Helper()
		for _, d := range []struct {
			from, to string
			want     error
		}{
			{far4, near4, want},
			{far6, near6, want},
			{other4, near4, nil},
		} {
			if err := h.dial(d.from, d.to); !errors.Is(err, d.want) || d.want == nil && err != nil {
				t.Errorf("from %s to %s: %v, want %v", d.from, d.to, err, d.want)
			}
		}
		for _, own := range []string{"127.0.0.1", "::1", near4, near6} {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(own, port), time.Second)
			if err != nil {
				t.Errorf("from this host to %s: %v", own, err)
				continue
			}
			conn.Close()
		}
		if err := echo(before); err != nil {
			t.Errorf("the connection that was open: %v", err)
		}
	}
	assertDials(nil)
	h.hold()
	t.Logf("closed %v after the hold", h.waitFor(true, 2*time.Second).Round(time.Millisecond))
	assertDials(syscall.ECONNREFUSED)
	lab.WaitFor(t, 10*time.Second, 10*time.Millisecond, func() error {
		if s := h.status(); !s.Closed || s.Refused < 2 {
			return errors.New("it does not count what it refuses")
		}
		return nil
	})
	closed := h.ruleset()
	h.lift()
	h.waitFor(false, 2*time.Second)
	assertDials(nil)
	if left := h.ruleset(); left != "" {
		t.Errorf("it leaves\n%s", left)
	}
	h.nft(closed)
	h.waitFor(false, 2*time.Second)
}

// firewall is a site's own, which accepts what the gate refuses.
const firewall = `
table inet filter {
	chain input {
		type filter hook input priority 0; policy accept;
		tcp dport 8140 accept
	}
}
`

// TestTableIsRestored: within two seconds, whatever removes or changes it.
func TestTableIsRestored(t *testing.T) {
	h := newGatedHost(t, "gate: {except: [192.0.2.3]}\n")
	h.start()
	h.hold()
	h.waitFor(true, 10*time.Second)
	lab.WaitFor(t, 10*time.Second, 10*time.Millisecond, func() error {
		if !h.status().Closed {
			return errors.New("the gate says that it is open")
		}
		return nil
	})
	want := h.ruleset()
	for _, script := range []string{
		"flush ruleset\n" + firewall, // as a reload of nftables.service does
		"flush table inet pmcheck",
		"insert rule inet pmcheck refuse tcp dport 8140 return",
	} {
		t.Run(strings.Fields(script)[0]+" "+strings.Fields(script)[1], func(t *testing.T) {
			h.nft(script)
			took := lab.WaitFor(t, 2*time.Second, 5*time.Millisecond, func() error {
				if now := h.ruleset(); !strings.HasSuffix(now, want) {
					return errors.New("the ruleset is\n" + now)
				}
				return nil
			})
			t.Logf("restored after %v", took.Round(time.Millisecond))
			if err := h.dial(far4, near4); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("a new connection: %v", err)
			}
		})
	}
}
