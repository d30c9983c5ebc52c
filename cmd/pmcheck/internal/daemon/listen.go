package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/systemd"
)

// TakeListeners takes over the sockets that the service manager has bound.
func (d *Daemon) TakeListeners() error {
	passed, err := systemd.Listeners()
	if err != nil {
		return err
	}
	return d.Inherit(passed[systemd.HTTPSocket], passed[systemd.AgentSocket], passed[systemd.StatusSocket])
}

// Inherit takes over listeners that another process has bound. They are served
// whatever the configuration says, because no other process answers on them.
func (d *Daemon) Inherit(ports, agentPorts, sockets []net.Listener) error {
	d.Ports, d.AgentPorts, d.Sockets = ports, agentPorts, sockets
	c := d.settings.Load()
	return errors.Join(
		d.compareBound(d.Ports, "pmcheck.socket", "listen", c.Listen),
		d.compareBound(d.AgentPorts, "pmcheck-agent.socket", "agent.listen", c.Agent.Listen))
}

// compareBound compares a setting with the sockets that the service manager has bound.
// It warns if they have another port or another address. If a socket is bound to every
// address and the setting names one, connections to the other addresses are closed. An
// empty setting fits every socket.
func (d *Daemon) compareBound(ports []net.Listener, unit, key, configured string) error {
	host, wanted, _ := net.SplitHostPort(configured)
	for _, port := range ports {
		tcp, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		bound := tcp.AddrPort()
		if configured != "" && strconv.Itoa(tcp.Port) != wanted {
			d.Log.Warn(fmt.Sprintf("%s has no effect, since %[2]s has bound the port: systemctl edit %[2]s, or disable it",
				key, unit), key, configured, "address", tcp.String())
			continue
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.IsUnspecified() || addr == front.Address(bound) {
			continue
		}
		if !bound.Addr().IsUnspecified() {
			d.Log.Warn(fmt.Sprintf("%s has no effect, since %s has bound another address", key, unit),
				key, configured, "address", tcp.String())
			continue
		}
		d.Log.Info(fmt.Sprintf("%s has bound every address: connections to any but the one in %s are closed", unit, key),
			key, configured)
		d.only[bound.Port()] = addr.Unmap()
	}
	return nil
}
