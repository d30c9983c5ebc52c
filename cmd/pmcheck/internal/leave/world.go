package leave

import (
	"context"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// NewWorld returns the world of this host. Say and Note are the caller's to set.
func NewWorld(c config.Config) World {
	st := &status.Follower{Client: status.Client{Socket: c.Socket}}
	w := World{Next: st.Next, Connections: tcp.Connections, Holds: c.Store()}
	if c.Budget.Database != "" {
		client := budget.New(c)
		w.Claim = func(ctx context.Context, want budget.Claim) error {
			_, err := client.Claim(ctx, want)
			return err
		}
	}
	if fleet := NewFleet(c.Fleet, append([]string{c.Probe.Certname}, status.OwnNames()...)); fleet != nil {
		w.Fleet = fleet.Ask
	}
	return w
}
