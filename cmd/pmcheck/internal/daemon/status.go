package daemon

import (
	"encoding/json"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/systemd"
)

// Status returns the status of the daemon at the time now, with the obstacles of each
// service.
func (d *Daemon) Status(now time.Time) status.Status {
	state := d.monitor.State()
	s := d.statusOf(state, now)

	connections := func() ([]sockets.Connection, error) { return sockets.Connections(s.Probe.Address) }
	leave.Explain(&s, state, d.settings.Load().MaxOut, connections)
	return s
}

// lookEvery is the shortest time from one look to the next.
const lookEvery = 25 * time.Millisecond

// A look shows the status in the form T. Clients that wait for a look share it: any user of the host may ask as often,
// and read as slowly, as he likes, and neither balancers nor memory must suffer.
type look[T any] struct {
	mu    sync.Mutex
	taken time.Time
	shows T
	err   error
}

// get returns a look that is not older than the question.
func (l *look[T]) get(d *Daemon, show func(status.Status) (T, error)) (T, error) {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.taken.Before(asked) {
		time.Sleep(time.Until(l.taken.Add(lookEvery)))
		l.taken = time.Now()
		l.shows, l.err = show(d.Status(l.taken))
	}
	return l.shows, l.err
}

func encode(s status.Status) ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// status returns a Status without obstacles, which need the kernel's connections.
func (d *Daemon) status(now time.Time) status.Status { return d.statusOf(d.monitor.State(), now) }

func (d *Daemon) statusOf(state *monitor.State, now time.Time) status.Status {
	s := status.New(state, d.settings.Load(), now)
	s.Version = ProgramVersion()
	s.Started = d.started
	s.Config = *d.config.Load()
	if d.settings.Load().Listen != d.listen {
		s.Warnings = append(s.Warnings, "listen has changed since the daemon was started: restart pmcheck")
	}

	all := d.balancers.All()
	s.Balancers = all.Current(now)
	s.BalancerAsked = all.Asked()
	if now.Sub(d.started) > balancer.SilentAfter {
		s.Silent = all.Silent(now)
	}

	s.Refused = d.refused.At(now)
	s.Budget = d.budget.Load()
	s.Gate = gateIn(d.gateDir)
	s.Warn()
	return s
}

// maxPasses bounds the networks that a gate lets through: those in gate.except, and each address of this host.
const maxPasses = 10_000

// gateIn returns what the gate with this runtime directory says of itself. What cannot be read, or is out of bounds,
// is no gate; whether it is alive is for GateStatus.Runs.
func gateIn(dir string) *status.GateStatus {
	gate, err := systemd.Load[*status.GateStatus](systemd.RuntimeFile{Dir: dir, Name: status.GateFile})
	if err != nil || gate == nil || len(gate.Passes) > maxPasses {
		return nil
	}

	status.Printable(gate)
	return gate
}

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
