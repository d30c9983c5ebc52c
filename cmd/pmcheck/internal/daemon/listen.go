package daemon

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// Listen binds the ports and the unix socket, unless the service manager has bound them: those are served whatever the
// configuration says, because no other process answers on them.
//
// A failure to bind the socket is only logged: the commands find no daemon then, but balancers are answered.
func (d *Daemon) Listen(ctx context.Context) error {
	if err := d.listenForBalancers(ctx); err != nil {
		return err
	}
	d.listenForCommands()

	if mistakes := d.source.mistakes; mistakes != nil {
		d.refuse("configuration not usable, the last good one is in use; correct the file, then reload", mistakes)
	} else {
		d.keep()
	}
	for _, ignored := range *d.ignored.Load() {
		d.log.Warn("variable ignored", "detail", ignored)
	}
	d.logDoubt(check.IdentitySettings{})
	c := d.settings.Load()
	d.log.Info("serving",
		"version", ProgramVersion(),
		"address", d.Address().String(),
		"master", c.Probe.Address,
		"certname", c.Probe.Certname,
		"config", d.config.Load().File)
	return nil
}

func (d *Daemon) listenForBalancers(ctx context.Context) error {
	listen := d.settings.Load().Listen
	if len(d.ports) == 0 {
		port, err := front.ListenTCP(ctx, listen)
		if err != nil {
			return err
		}
		d.ports = []net.Listener{port}
		return nil
	}

	for _, port := range d.ports {
		bound, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		if !means(listen, bound) {
			d.log.Warn("listen has no effect, since pmcheck.socket has bound the port: systemctl edit pmcheck.socket, or "+
				"disable it", "listen", listen, "address", bound.String())
		}
	}
	return nil
}

// means reports whether the setting listen would have bound an address.
func means(listen string, bound *net.TCPAddr) bool {
	host, number, _ := net.SplitHostPort(listen)
	if number != strconv.Itoa(bound.Port) {
		return false
	}

	ip := net.ParseIP(host)
	return host == "" || ip.IsUnspecified() || ip.Equal(bound.IP)
}

func (d *Daemon) listenForCommands() {
	if len(d.sockets) > 0 {
		return
	}

	socket, err := front.ListenSocket(d.settings.Load().Socket)
	if err != nil {
		d.log.Warn("no unix socket, so commands that ask the daemon (status, wait, drain, maint, with-hold) do not work",
			"error", err)
		return
	}
	d.sockets = []net.Listener{socket}
}

// Address returns the address on which balancers are answered. It must be called after Listen.
func (d *Daemon) Address() net.Addr { return d.ports[0].Addr() }
