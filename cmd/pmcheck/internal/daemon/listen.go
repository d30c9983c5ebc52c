package daemon

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// Listen binds the ports and the unix socket, unless the service manager has bound them.
// A failure to bind the socket is only logged: the commands find no daemon then, but
// balancers are answered.
func (d *Daemon) Listen(ctx context.Context) error {
	c := d.settings.Load()
	if len(d.Ports) == 0 {
		port, err := front.ListenTCP(ctx, c.Listen)
		if err != nil {
			return err
		}
		d.Ports = []net.Listener{port}
	}
	if len(d.Sockets) > 0 {
		return nil
	}
	socket, err := front.ListenSocket(c.Socket)
	if err != nil {
		d.Log.Warn("no unix socket, so pmcheck status and wait will not work", "error", err)
		return nil
	}
	d.Sockets = []net.Listener{socket}
	return nil
}

// Inherit takes over listeners that another process has bound. They are served
// whatever the configuration says, because no other process answers on them.
func (d *Daemon) Inherit(ports, sockets []net.Listener) error {
	d.Ports, d.Sockets = ports, sockets
	d.inherited = len(ports) > 0
	c := d.settings.Load()
	return d.compareBound(c.Listen)
}

// compareBound compares the setting listen with the sockets that the service manager has
// bound. It warns if they have another port or another address. If a socket is bound to every
// address and the setting names one, connections to the other addresses are closed.
func (d *Daemon) compareBound(listen string) error {
	host, wanted, _ := net.SplitHostPort(listen)
	for _, port := range d.Ports {
		tcp, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		bound := tcp.AddrPort()
		if strconv.Itoa(tcp.Port) != wanted {
			d.Log.Warn("listen has no effect, since pmcheck.socket has bound the port: systemctl edit pmcheck.socket, "+
				"or disable it", "listen", listen, "address", tcp.String())
			continue
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.IsUnspecified() || addr == front.Address(bound) {
			continue
		}
		if !bound.Addr().IsUnspecified() {
			d.Log.Warn("listen has no effect, since pmcheck.socket has bound another address",
				"listen", listen, "address", tcp.String())
			continue
		}
		d.Log.Info("pmcheck.socket has bound every address: connections to any but the one in listen are closed",
			"listen", listen)
		d.only[bound.Port()] = addr.Unmap()
	}
	return nil
}
