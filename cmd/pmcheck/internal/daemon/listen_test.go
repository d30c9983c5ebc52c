package daemon_test

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// TestListenLimitsAnInheritedSocket: with pmcheck.socket, systemd binds every
// address. The setting listen still says where the daemon answers.
func TestListenLimitsAnInheritedSocket(t *testing.T) {
	port, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	number := netip.MustParseAddrPort(port.Addr().String()).Port()
	r := start(t, nil)
	r.stop()
	c := r.config
	c.Listen = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), number).String()
	r.Daemon = daemon.New(c, "test.yaml", "test", slog.New(slog.DiscardHandler))
	if err := r.Inherit([]net.Listener{port}, nil); err != nil {
		t.Fatal(err)
	}
	r.serve()
	for host, want := range map[string]bool{"127.0.0.2": true, "127.0.0.1": false, "127.0.0.3": false} {
		conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr(host), number).String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		n, _ := conn.Read(make([]byte, 1))
		if answered := n == 1; answered != want {
			t.Errorf("%s: answered %v, want %v", host, answered, want)
		}
	}
}

func TestLinkLocalClientsMatchNetworks(t *testing.T) {
	client := front.Address(netip.MustParseAddrPort("[fe80::1%eth0]:40000"))
	for _, network := range config.Default().Allow {
		if network.Addr().Is6() && !network.Contains(client) {
			t.Errorf("%s is not in %s, the default of allow", client, network)
		}
	}
}
