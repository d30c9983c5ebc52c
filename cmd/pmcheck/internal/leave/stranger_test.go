package leave_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// A stranger is a client that is no balancer, and sends a view to each master every second.
type stranger struct {
	name string
	node string
	// names is how many nodes the stranger claims to be, each every 5 s; 0: one. Sixteen of them have an address.
	names int
	// near says that the addresses are in the network of the balancers, the first is that of the first balancer.
	near bool
	// says returns the state and the total weight, of which 100 are the master's, from how often the stranger has asked
	// and the last answer to it.
	says func(times, code int) (state string, total int)
}

// strangers are those that disturb pools of a shape. One whose address is listed is no stranger.
func (s shape) strangers() []stranger {
	if !s.ipv6 {
		return strangersWithViews()
	}
	return slices.DeleteFunc(strangersWithNames(), func(who stranger) bool {
		isSlow := who.names > 16
		return s.listed && who.near || isSlow && testing.Short()
	})
}

func strangersWithViews() []stranger {
	alone := func(int, int) (string, int) { return "UP", 100 }
	spare := func(int, int) (string, int) { return "UP", 200 }
	every := func(n int, then func(int, int) (string, int)) func(int, int) (string, int) {
		return func(times, code int) (string, int) {
			if times%(2*n) < n {
				return then(times, code)
			}
			return spare(times, code)
		}
	}
	return []stranger{
		{name: "alone", node: "aa", says: alone},
		{name: "has lost its other server", node: "aa", says: func(times, code int) (string, int) {
			if times == 0 {
				return spare(times, code)
			}
			return alone(times, code)
		}},
		{name: "alternates", node: "aa", says: every(1, alone)},
		{name: "always has another", node: "aa", says: spare},
		{name: "always has another, sorts last", node: "zz", says: spare},
		{name: "flaps", node: "aa", says: every(20, func(int, int) (string, int) { return "NOLB", 100 })},
		{name: "lets go", node: "aa", says: func(_, code int) (string, int) {
			if code == 200 {
				return "UP", 200
			}
			return "NOLB", 100
		}},
		{name: "lets go, sorts last, and has no other", node: "zz", says: func(_, code int) (string, int) {
			if code == 200 {
				return "UP", 200
			}
			return "NOLB", 0
		}},
	}
}

// strangersWithNames claim to be more balancers than a daemon remembers for an address, or for a /64, or have a name
// that it cannot read. All of them say that they have let go of the master.
func strangersWithNames() []stranger {
	const longer = 129
	isOut := func(int, int) (string, int) { return "NOLB", 100 }
	return []stranger{
		{name: "sixteen names", node: "aa", says: isOut, names: 16},
		{name: "sixteen names, in the address of the balancer", node: "aa", says: isOut, names: 16, near: true},
		{name: "eighty names, in its network", node: "aa", says: isOut, names: 80, near: true},
		{name: "a name that is too long", node: strings.Repeat("a", longer), says: isOut},
	}
}

// disturb has a stranger ask every master until ctx ends.
func (p *pool) disturb(ctx context.Context, s stranger) {
	away := netip.MustParseAddr("203.0.113.9")
	for _, m := range p.members {
		for n := range max(1, s.names) {
			from := away
			if s.near {
				from = p.address(1 + n/16)
			}
			go p.impersonate(ctx, s, m, from, n)
		}
	}
}

// impersonate has a stranger ask a master by the nth of its names.
func (p *pool) impersonate(ctx context.Context, s stranger, m *member, from netip.Addr, n int) {
	node := s.node
	if n > 0 {
		node = fmt.Sprint(node, n)
	}
	shifts := p.random("stranger" + m.name + node)
	pause := time.Second
	if s.names > 0 {
		pause = 5 * time.Second
	}
	code := 200
	for times := 0; ctx.Err() == nil; times++ {
		state, total := s.says(times, code)
		code = m.answer(from, fmt.Sprintf("%s; name=puppet/%s; node=%s; weight=100/%d; scur=0/0; qcur=0",
			state, m.name, node, total), shifts)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// A leaver takes a master out and brings it back, as a person or systemd does.
type leaver struct {
	name string
	// patient is how long the stranger can delay it without harm.
	patient time.Duration
	leave   func(ctx context.Context, m *member) error
}

// inAnyCase hides the error of a stop that went on although something was in its way: with a stranger, it may.
func inAnyCase(err error) error {
	if errors.As(err, new(*leave.Error)) {
		return nil
	}
	return err
}

func leavers() []leaver {
	return []leaver{
		{"stop", limits().Turn, func(ctx context.Context, m *member) error {
			_, err := leave.Out(ctx, m.world(), command(stop))
			m.isDown()
			back := leave.Back(ctx, m.world(), limits().Return, drain.Guard)
			if m.budget {
				go m.giveBack(ctx)
			}
			return errors.Join(inAnyCase(err), back)
		}},
		{"drain", forever, func(ctx context.Context, m *member) error {
			set, err := leave.Out(ctx, m.world(), command())
			if set.Mode == "" { // it was refused
				return inAnyCase(err)
			}
			m.isDown()
			return errors.Join(err, m.liftAll())
		}},
		{"shutdown", limits().Shutdown / 2, func(ctx context.Context, m *member) error {
			g := m.guard(drain.Guard, shuttingDown)
			err := g.Out(ctx)
			m.becomes(check.Unknown)
			time.Sleep(time.Minute)
			m.becomes(check.Healthy)
			back := leave.Back(ctx, m.world(), limits().Return, drain.Guard)
			return errors.Join(inAnyCase(err), back)
		}},
	}
}

// forever is longer than anything that is simulated.
const forever = 100 * time.Hour

// outcome is what became of some pools.
type outcome struct {
	pools, bad       int
	longest, slowest time.Duration
	summed           time.Duration // without a server, over all pools
	earliest         time.Duration // into the way out, of the moments without a server
}

// TestAStrangerTakesNothingAway: whatever a client that is no balancer claims, no command takes the last master out,
// and a stop or a shutdown does so only after its patience. With the setting balancers, it changes nothing.
func TestAStrangerTakesNothingAway(t *testing.T) {
	t.Parallel()
	shapes := map[string]shape{
		"views":            ordinary(2, turns),
		"budget":           ordinary(2, turns, withBudget),
		"budget, listed":   ordinary(2, turns, listed, withBudget),
		"budget, blind":    ordinary(2, blind, withBudget),
		"views, young":     ordinary(2, turns, young),
		"listed, young":    ordinary(2, turns, listed, young),
		"fleet":            ordinary(2, withFleet),
		"views and fleet":  ordinary(2, turns, alsoFleet),
		"listed":           ordinary(2, turns, listed),
		"listed and fleet": ordinary(2, turns, listed, alsoFleet),
		"views, names":     ordinary(2, turns, ipv6),
		"listed, names":    ordinary(2, turns, ipv6, listed),
	}
	if testing.Short() { // they are slow with the race detector
		delete(shapes, "budget")
		delete(shapes, "budget, listed")
		delete(shapes, "views, young")
		delete(shapes, "listed, young")
		delete(shapes, "listed, names")
		delete(shapes, "fleet")
		delete(shapes, "views and fleet")
		delete(shapes, "listed and fleet")
	}
	var table []string
	for name, s := range shapes {
		for _, l := range leavers() {
			t.Run(name+"/"+l.name, func(t *testing.T) {
				all, patient := outcome{}, l.patient
				if s.listed {
					patient = forever
				} else if s.fleet && s.blind { // masters of a fleet give up one that a stranger has had leaving for so long
					patient = min(patient, balancer.ExpectedBack)
				}
				for _, who := range s.strangers() {
					o := s.disturbed(t, who, l, seeds(1))
					if o.bad > 0 && o.earliest < patient {
						t.Errorf("%s: no server for %s, first after %s", who.name, o.longest, o.earliest)
					}
					all.pools += o.pools
					all.bad += o.bad
					all.summed += o.summed
					all.longest = max(all.longest, o.longest)
					all.slowest = max(all.slowest, o.slowest)
				}
				table = append(table, fmt.Sprintf("| %s | %s | %d | %d | %s | %s | %s |", name, l.name, all.pools, all.bad,
					all.longest.Round(time.Second), all.summed.Round(time.Second), all.slowest.Round(time.Second)))
			})
		}
	}
	slices.Sort(table)
	t.Logf("| pool | | pools | without a server | longest | summed | slowest |\n%s", strings.Join(table, "\n"))
}

// disturbed has both masters of a pair leave within some seconds while a stranger asks, in a pool for each seed.
func (s shape) disturbed(t *testing.T, who stranger, l leaver, seeds []uint64) (o outcome) {
	for _, seed := range seeds {
		s.runWith(seed, t, func(ctx context.Context, p *pool) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			p.disturb(ctx, who)
			moments := p.random("moments")
			time.Sleep(upTo(moments, 20*time.Minute)) // a balancer that lost its others has, or has not yet, forgotten them
			p.outage()
			if s.young {
				for _, m := range p.members {
					m.forgets()
				}
			}

			began := time.Now()
			first := time.Duration(-1)
			go func() {
				for ctx.Err() == nil {
					time.Sleep(time.Second)
					if none, _ := p.outage(); none > 0 {
						o.summed += min(none, time.Second)
						o.longest = max(o.longest, none)
						if first < 0 {
							first = time.Since(began) - none
						}
					}
				}
			}()
			var group errgroup.Group
			for _, m := range p.members {
				after := upTo(moments, 5*time.Second)
				group.Go(func() error {
					time.Sleep(after)
					return l.leave(ctx, m)
				})
			}
			if err := group.Wait(); err != nil {
				t.Errorf("%s, seed %d: %v", who.name, p.seed, err)
			}
			time.Sleep(2 * time.Second)
			o.pools++
			o.slowest = max(o.slowest, time.Since(began))
			if first >= 0 {
				if o.bad == 0 || first < o.earliest {
					o.earliest = first
				}
				o.bad++
			}
		})
	}
	return o
}
