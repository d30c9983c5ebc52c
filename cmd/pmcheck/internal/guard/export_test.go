package guard

import (
	"context"
	"net"
	"time"
)

// HostStops has the guard believe that the host shuts down since at.
func (g *Guard) HostStops(at time.Time) { g.stop.HostStops = at }

// Dial has the guard ask a daemon in this process, and not the systemd of this host.
func (g *Guard) Dial(dial func(context.Context) (net.Conn, error)) {
	g.client.Dial, g.asked = dial, time.Now().Add(24*time.Hour)
}
