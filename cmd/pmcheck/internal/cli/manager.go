package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// statusEvery is how often the status line of the service manager is compared
// with the truth.
const statusEvery = time.Second

// takeListeners takes over the sockets that the service manager has bound. They
// are the ones to serve, whatever the configuration says: nobody else answers
// on them.
func takeListeners(a *agent.Agent, c config.Config) error {
	passed, err := systemd.Listeners()
	if err != nil {
		return err
	}
	a.Ports, a.AgentPorts, a.Sockets = passed[systemd.HTTPSocket], passed[systemd.AgentSocket], passed[systemd.StatusSocket]
	return errors.Join(
		compareBound(a, a.Ports, "pmcheck.socket", "listen", c.Listen),
		compareBound(a, a.AgentPorts, "pmcheck-agent.socket", "agent.listen", c.Agent.Listen))
}

// compareBound warns of a setting that names another port than the one that the
// service manager has bound. To enable a socket is enough: an empty setting is
// no contradiction.
func compareBound(a *agent.Agent, ports []net.Listener, unit, key, configured string) error {
	_, wanted, _ := net.SplitHostPort(configured)
	for _, port := range ports {
		tcp, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is no TCP port: balancers are answered on nothing else", port.Addr())
		}
		if configured != "" && strconv.Itoa(tcp.Port) != wanted {
			a.Log.Warn(fmt.Sprintf("%s is without effect, since %[2]s has bound the port: systemctl edit %[2]s, or disable it", key, unit),
				key, configured, "address", tcp.String())
		}
	}
	return nil
}

// announce tells the service manager that we answer, once the first verdict
// is there or has had its time.
func announce(ctx context.Context, a *agent.Agent, patience time.Duration) {
	select {
	case <-a.Judged():
	case <-time.After(patience):
	case <-ctx.Done():
		return
	}
	tellManager(a, systemd.Ready(a.Summary()))
}

// tellManager logs that a notification did not go through. Balancers are
// answered all the same.
func tellManager(a *agent.Agent, err error) {
	if err != nil {
		a.Log.Warn("no word to the service manager", "error", err)
	}
}

// feedWatchdog tells the service manager that all is well for as long as a
// check of our own is answered and the probe loop turns. Without a watchdog it
// does nothing.
func feedWatchdog(ctx context.Context, a *agent.Agent) error {
	within, err := systemd.Watchdog()
	if within == 0 || err != nil {
		return err
	}
	patience := within / 3 // so that one answer may be late
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		if err := live(ctx, a, patience); err == nil {
			tellManager(a, systemd.Ping())
		} else if ctx.Err() == nil {
			a.Log.Error("not well, so the watchdog is not told otherwise", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func live(ctx context.Context, a *agent.Agent, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return a.Live(ctx)
}
