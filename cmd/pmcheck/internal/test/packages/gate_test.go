package packages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The addresses of a host with a gate, and of its clients, one of which the gate never refuses.
const (
	excepted   = "198.19.0.1"
	far6, own6 = "2001:db8::1", "2001:db8::2"
)

// TestGateUnit: the unit of the package, off at first, on a host with a server on Puppet's
// port, which keeps connections. A HAProxy checks that port, and only connects.
func TestGateUnit(t *testing.T) {
	lab.Need(t, "nft", "nftables")
	s := boot(t, "gate")
	lab.Output(t, s.Net.Command("sh", "-ec",
		"ip address add "+excepted+"/15 dev lab0; ip address add "+far6+"/64 dev lab0 nodad"))
	s.Host.MustRun("ip", "address", "add", own6+"/64", "dev", "eth0", "nodad")
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "gate: {except: ["+excepted+", 2001:db8:1::/48]}\n", 0o644)
	s.Host.WriteFile("/usr/local/bin/keep-alive", keepAlive, 0o644)
	s.Host.WriteFile("/etc/systemd/system/other.service",
		"[Service]\nExecStart=/usr/bin/python3 /usr/local/bin/keep-alive\n"+
			"[Install]\nWantedBy=multi-user.target\n", 0o644)
	s.Host.MustRun("systemctl", "enable", "--now", "other.service")
	s.install(older)
	if state, _ := s.Host.Run("systemctl", "is-enabled", "pmcheck-gate.service"); state != "disabled" {
		t.Errorf("after the installation it is %s", state)
	}
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck-gate.service")
	out, err := s.Host.Run("systemd-analyze", "security", "--no-pager", "--threshold=13", "pmcheck-gate.service")
	t.Log(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:])
	if err != nil {
		t.Error("it is exposed more than 2.0")
	}
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck-gate.service")
	s.assertPrints("0000000000001000", "sh", "-c", "sed -n 's/^CapEff:[[:space:]]*//p' /proc/"+pid+"/status") // NET_ADMIN
	s.waitForPort(false, 20*time.Second)

	t.Run("refuses new connections", func(t *testing.T) { s.with(t).testRefuses() })
	connects := s.Net.StartHAProxy(t, "backend puppet\n    option tcp-check\n"+
		"    server m1 "+net.JoinHostPort(s.Host.Address, "8140")+" check inter 500ms fall 3 rise 2\n")
	connects.WaitEach(10*time.Second, func(m lab.ServerStat) bool { return m.CheckStatus == "L4OK" })
	s.Host.MustRun("pmcheck", "drain", "--now", "--force")
	s.waitForPort(true, 5*time.Second)
	connects.WaitStatus("puppet", "m1", "DOWN", 10*time.Second) // a balancer that can only connect
	const shown = `pmcheck status | sed -nE 's/^(gate) +(closed) since.*/\1 \2/p'`
	s.waitForOutput(10*time.Second, "gate closed", "sh", "-c", shown)
	t.Run("table restored", func(t *testing.T) { s.with(t).testRestored() })
	t.Run("killed", func(t *testing.T) {
		on := s.with(t)
		// Only the main process, as a crash does: systemd 257 would kill what opens the gate, too.
		on.Host.MustRun("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "pmcheck-gate.service")
		took := on.waitForPort(false, 5*time.Second)
		t.Logf("the port was open after %v", took.Round(time.Millisecond))
		t.Logf("and refused again after %v", on.waitForPort(true, 30*time.Second).Round(time.Millisecond))
	})
	t.Run("hangs", func(t *testing.T) {
		on := s.with(t)
		// The port is refused before the unit has started, and the watchdog watches only then.
		on.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck-gate.service")
		on.Host.MustRun("systemctl", "kill", "--signal=STOP", "pmcheck-gate.service")
		on.waitForPort(false, 30*time.Second)
		on.waitForPort(true, 30*time.Second)
	})
	t.Run("package removed", func(t *testing.T) {
		on := s.with(t)
		on.Host.MustRun("dpkg", "--remove", "pmcheck")
		on.waitForPort(false, time.Second)
		on.assertPrints("", "nft", "list", "ruleset")
		on.install(newer)
		on.waitForPort(true, 10*time.Second) // it is still enabled, and the hold was kept
	})
}

// testRefuses: over IPv4 and IPv6, from everywhere but the host itself and the networks in gate.except, and only while
// the master is held: a table that comes from somewhere else is removed.
func (s *hostSite) testRefuses() {
	for from, to := range map[string]string{excepted: s.Host.Address, far6: own6} { // neighbours find each other
		lab.WaitFor(s.TB, 20*time.Second, 10*time.Millisecond, func() error { return s.try(from, to) })
	}
	open, err := s.dial(lab.BridgeAddress, s.Host.Address)
	lab.Must(s.TB, err)
	defer open.Close()
	s.assertDials(open, nil)
	// As pmcheck drain does, but in the moment in which it takes effect.
	holds := fmt.Sprintf("/proc/%d/root/var/lib/pmcheck/holds/", s.Host.Pid())
	lab.Write(s.TB, holds+".new", `{"mode": "drain"}`)
	lab.Must(s.TB, os.Rename(holds+".new", holds+"operator.json"))
	s.TB.Logf("closed %v after the hold", s.waitForPort(true, 2*time.Second).Round(time.Millisecond))
	s.assertDials(open, syscall.ECONNREFUSED)
	lab.WaitFor(s.TB, 10*time.Second, 10*time.Millisecond, func() error {
		var g status.GateStatus
		err := json.Unmarshal([]byte(s.Host.MustRun("cat", "/run/pmcheck-gate/"+status.GateFile)), &g)
		if err == nil && (!g.Closed || g.Refused < 2) {
			err = errors.New("it does not count what it refuses")
		}
		return err
	})
	closed := s.ruleset()
	s.Host.MustRun("pmcheck", "ready")
	s.waitForPort(false, 2*time.Second)
	s.assertDials(open, nil)
	if left := s.ruleset(); left != "" {
		s.TB.Errorf("it leaves\n%s", left)
	}
	s.nft(closed)
	s.waitForPort(false, 2*time.Second)
}

// assertDials asserts what new connections meet. One that was open before carries on.
func (s *hostSite) assertDials(open net.Conn, want error) {
	s.TB.Helper()
	for _, d := range []struct {
		from, to string
		want     error
	}{
		{lab.BridgeAddress, s.Host.Address, want},
		{far6, own6, want},
		{excepted, s.Host.Address, nil},
	} {
		if err := s.try(d.from, d.to); !errors.Is(err, d.want) || d.want == nil && err != nil {
			s.TB.Errorf("from %s to %s: %v, want %v", d.from, d.to, err, d.want)
		}
	}
	for _, own := range []string{"127.0.0.1", "::1", s.Host.Address, own6} {
		err := s.Host.Inside(func() error {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(own, "8140"), time.Second)
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err != nil {
			s.TB.Errorf("from this host to %s: %v", own, err)
		}
	}
	open.SetDeadline(time.Now().Add(5 * time.Second))
	_, asked := fmt.Fprint(open, "HEAD / HTTP/1.1\r\nHost: gate\r\n\r\n")
	if _, err := open.Read(make([]byte, 4096)); asked != nil || err != nil {
		s.TB.Errorf("the connection that was open: %v, %v", asked, err)
	}
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

// testRestored: the table of a closed gate is back within two seconds, whatever removes or changes it.
func (s *hostSite) testRestored() {
	want := s.ruleset()
	for _, script := range []string{
		"flush ruleset\n" + firewall, // as a reload of nftables.service does
		"flush table inet pmcheck",
		"insert rule inet pmcheck refuse tcp dport 8140 return",
	} {
		s.nft(script)
		took := lab.WaitFor(s.TB, 2*time.Second, 5*time.Millisecond, func() error {
			if now := s.ruleset(); !strings.HasSuffix(now, want) {
				return fmt.Errorf("after %q the ruleset is\n%s", script, now)
			}
			return nil
		})
		s.TB.Logf("restored after %v", took.Round(time.Millisecond))
		s.waitForPort(true, 0)
	}
	s.nft("delete table inet filter")
}

// ruleset returns all of nftables but counters and the numbers of rules.
func (s *hostSite) ruleset() string {
	s.TB.Helper()
	return s.Host.MustRun("nft", "--stateless", "list", "ruleset")
}

func (s *hostSite) nft(script string) {
	s.TB.Helper()
	cmd := s.Host.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	lab.Output(s.TB, cmd)
}

func (s *hostSite) dial(from, to string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return s.Net.Dial(s.TB.Context(), dialer, "tcp", net.JoinHostPort(to, "8140"))
}

func (s *hostSite) try(from, to string) error {
	conn, err := s.dial(from, to)
	if err == nil {
		conn.Close()
	}
	return err
}

// waitForPort waits until a new connection is refused, or accepted.
func (s *hostSite) waitForPort(refused bool, within time.Duration) time.Duration {
	s.TB.Helper()
	return lab.WaitFor(s.TB, within, time.Millisecond, func() error {
		err := s.try(lab.BridgeAddress, s.Host.Address)
		if refused != errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("a new connection: %v", err)
		}
		return nil
	})
}
