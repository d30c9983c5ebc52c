package leave_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// TestHostsThatRebootTogether: all masters of a pool shut down in the same moment, as by Automatic-Reboot-Time of
// unattended-upgrades, and are healthy again so long after they have stopped. leaving.md says what the default
// covers, and which value of guard.shutdown covers more.
func TestHostsThatRebootTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		masters  int
		reboot   time.Duration // from the end of the way out until the master is healthy
		shutdown time.Duration // guard.shutdown; 0 is the default
		outage   bool          // more than a crossing of two checks, which the next ones heal
	}{
		{masters: 2, reboot: 4 * time.Minute},
		{masters: 2, reboot: 5 * time.Minute, outage: true},
		{masters: 3, reboot: 4 * time.Minute},
		{masters: 3, reboot: 5 * time.Minute, outage: true},
		{masters: 2, reboot: 5 * time.Minute, shutdown: 12 * time.Minute},
		{masters: 3, reboot: 5 * time.Minute, shutdown: 22 * time.Minute},
	} {
		name := fmt.Sprintf("%d masters, %s, guard.shutdown %s", c.masters, c.reboot, c.shutdown)
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds(4) {
				ordinary(c.masters).runWith(seed, t, func(ctx context.Context, p *pool) {
					var all errgroup.Group
					for _, m := range p.members {
						all.Go(func() error { return m.reboot(ctx, c.reboot, c.shutdown) })
					}
					if err := all.Wait(); err != nil {
						t.Error(err)
					}
					none, out := p.outage()
					t.Logf("without a server for %s, at most %d out", none, out)
					if (none > p.crossing()) != c.outage {
						t.Errorf("without a server for %s", none)
					}
				})
			}
		})
	}
}

// reboot is the way out of a host that shuts down, the time while it is down, and the way back.
func (m *member) reboot(ctx context.Context, down, shutdown time.Duration) error {
	g := m.guard(drain.Guard, shuttingDown)
	if shutdown > 0 {
		g.Limits.Shutdown = shutdown
	}
	if err := inAnyCase(g.Out(ctx)); err != nil {
		return err
	}
	m.becomes(check.Unknown) // nothing answers
	time.Sleep(down)
	m.becomes(check.Healthy)
	return g.Back(ctx)
}
