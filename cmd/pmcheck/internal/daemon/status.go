package daemon

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/systemd"
)

// Status returns the status of the daemon at the time now.
func (d *Daemon) Status(now time.Time) status.Status {
	facts := d.facts(now)
	address := facts.State.Address
	facts.Connections = func() ([]sockets.Connection, error) { return sockets.Connections(address) }
	return status.New(facts, now)
}

// shareEvery is the shortest time from one status to the next.
const shareEvery = 25 * time.Millisecond

// shared has the status in the form T. Clients that wait for it share it: any user of the host may ask as often,
// and read as slowly, as he likes, and neither balancers nor memory must suffer.
type shared[T any] struct {
	mu    sync.Mutex
	taken time.Time
	shows T
	err   error
}

// get returns a status that is not older than the question.
func (s *shared[T]) get(d *Daemon, show func(status.Status) (T, error)) (T, error) {
	asked := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.taken.Before(asked) {
		time.Sleep(time.Until(s.taken.Add(shareEvery)))
		s.taken = time.Now()
		s.shows, s.err = show(d.Status(s.taken))
	}
	return s.shows, s.err
}

// status returns a Status that does not say whether a held master is idle: that needs the kernel's connections.
func (d *Daemon) status(now time.Time) status.Status { return status.New(d.facts(now), now) }

// facts are what the daemon knows at now, but for the kernel's connections.
func (d *Daemon) facts(now time.Time) status.Facts {
	state := d.monitor.State()
	settings := d.settings.Load()
	warnings := *d.ignored.Load()
	if settings.Listen != d.listen {
		const changed = "listen has changed since the daemon was started: restart pmcheck, and if pmcheck.socket binds " +
			"the port, first systemctl edit pmcheck.socket"
		warnings = append([]string{changed}, warnings...)
	}
	return status.Facts{
		Version:      ProgramVersion(),
		Started:      d.started,
		ListensSince: *d.listens.Load(),
		State:        state,
		Settings:     settings,
		Config:       *d.config.Load(),
		Warnings:     warnings,
		Balancers:    d.balancers.All(),
		Unseen:       d.balancers.Unseen(),
		Unlisted:     d.unlisted.All(),
		Refused:      d.refused.At(now),
		Budget:       d.budget.Load(),
		Gate:         gateIn(d.gateDir),
	}
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
