package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// statusEvery is how often the status line of the service manager is compared
// with the state.
const statusEvery = time.Second

// TakeListeners takes over the sockets that the service manager has bound. They
// are served whatever the configuration says, because no other process answers
// on them.
func (d *Daemon) TakeListeners() error {
	passed, err := systemd.Listeners()
	if err != nil {
		return err
	}
	d.Ports, d.AgentPorts, d.Sockets = passed[systemd.HTTPSocket], passed[systemd.AgentSocket], passed[systemd.StatusSocket]
	c := d.settings.Load()
	return errors.Join(
		d.compareBound(d.Ports, "pmcheck.socket", "listen", c.Listen),
		d.compareBound(d.AgentPorts, "pmcheck-agent.socket", "agent.listen", c.Agent.Listen))
}

// compareBound warns of a setting that names another address than the one that the
// service manager has bound. Enabling a socket is enough: an empty setting does not
// contradict it.
func (d *Daemon) compareBound(ports []net.Listener, unit, key, configured string) error {
	for _, port := range ports {
		tcp, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		if contradicts(configured, tcp.AddrPort()) {
			d.Log.Warn(fmt.Sprintf("%s is without effect, since %[2]s has bound the port: systemctl edit %[2]s, or disable it",
				key, unit), key, configured, "address", tcp.String())
		}
	}
	return nil
}

// announce tells the service manager that the daemon answers, once there is a
// verdict to tell.
func (d *Daemon) announce(ctx context.Context) {
	d.waitForVerdict(ctx)
	if ctx.Err() == nil {
		d.notify(systemd.Ready(d.Summary()))
	}
}

// notify logs a notification that failed. Balancers are answered all the same.
func (d *Daemon) notify(err error) {
	if err != nil {
		d.Log.Warn("cannot notify systemd", "error", err)
	}
}

// feedWatchdog pings the service manager's watchdog for as long as the daemon
// answers its own question and the monitor's loop turns. Without a watchdog it
// does nothing.
func (d *Daemon) feedWatchdog(ctx context.Context) error {
	within, err := systemd.Watchdog()
	if within == 0 || err != nil {
		return err
	}
	every := within / 3 // so that one answer may be late
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, every)
		err := d.Live(limited)
		cancel()
		if err == nil {
			d.notify(systemd.Ping())
		} else if ctx.Err() == nil {
			d.Log.Error("not well, so the watchdog is not fed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
