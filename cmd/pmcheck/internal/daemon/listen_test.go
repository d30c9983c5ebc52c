package daemon_test

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// With pmcheck.socket, systemd has bound the port, and no other process answers there.
func TestAnInheritedSocketIsServedWhateverListenSays(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	for _, tt := range []struct {
		listen string
		warns  bool
	}{{"127.0.0.1:PORT", false}, {":PORT", false}, {"127.0.0.2:PORT", true}, {":1", true}} {
		port, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, number, _ := net.SplitHostPort(port.Addr().String())
		r.config.Listen = strings.Replace(tt.listen, "PORT", number, 1)
		var log strings.Builder
		r.Daemon = daemon.New(r.config, "test.yaml", "test", slog.New(slog.NewTextHandler(&log, nil)))
		r.Ports = []net.Listener{port}
		if err := r.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		if warns := strings.Contains(log.String(), "listen has no effect"); warns != tt.warns || r.Address() != port.Addr() {
			t.Errorf("listen %s: warns %v, answers on %s", tt.listen, warns, r.Address())
		}
		port.Close()
		r.Sockets[0].Close()
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
