package guard

import (
	"context"
	"net"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// Lot has the guard draw that number.
func (g *Guard) Lot(lot float64) { g.stop.Lot = lot }

// HostStops has the guard believe that the host shuts down since at.
func (g *Guard) HostStops(at time.Time) { g.stop.HostStops = at }

// Dial has the guard ask a daemon in this process, and not the systemd of this host.
func (g *Guard) Dial(dial func(context.Context) (net.Conn, error)) {
	g.client.Dial, g.asked = dial, time.Now().Add(24*time.Hour)
}

// Systemd has the guard believe ask about the service, on a host that does not shut down.
func (g *Guard) Systemd(ask func() systemd.Service) {
	g.ask = func(context.Context, string) (systemd.Service, error) { return ask(), nil }
	g.hostStops = func(context.Context) (bool, error) { return false, nil }
	g.asked = time.Time{}
}
