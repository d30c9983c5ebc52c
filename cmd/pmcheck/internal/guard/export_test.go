package guard

import "time"

// HostStops has the guard believe that the host shuts down since at.
func (g *Guard) HostStops(at time.Time) { g.stop.HostStops = at }
