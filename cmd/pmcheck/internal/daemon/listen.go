package daemon

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// Listen binds the ports and the unix socket, unless the service manager has bound them: those are served
// whatever the configuration says, because no other process answers on them.
// A failure to bind the socket is only logged: the commands find no daemon then, but
// balancers are answered.
func (d *Daemon) Listen(ctx context.Context) error {
	c := d.settings.Load()
	for _, port := range d.Ports {
		bound, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		host, number, _ := net.SplitHostPort(c.Listen)
		ip := net.ParseIP(host)
		if number != strconv.Itoa(bound.Port) || host != "" && !ip.IsUnspecified() && !ip.Equal(bound.IP) {
			d.Log.Warn("listen has no effect, since pmcheck.socket has bound the port: systemctl edit pmcheck.socket, or "+
				"disable it", "listen", c.Listen, "address", bound.String())
		}
	}
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
