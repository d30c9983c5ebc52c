package monitor

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// The address of the probe is a guess as long as no source names it: a balancer on the master's own host may have
// Puppet's port, and then another master of the pool answers there. This file finds out which program answers:
// listening observes, place decides, try probes the other addresses, and the loop moves there.

// sight is what the kernel and systemd say at one moment: who listens on this host, and which unit is the master's.
type sight struct {
	listeners sockets.Listeners // empty if the kernel does not tell
	unit      systemd.UnitState
}

// listening returns the sockets that listen on this host; none if the kernel does not tell.
func listening() sockets.Listeners {
	all, _ := sockets.AllListeners()
	return all
}

// Owner says whose the socket at an address is.
type Owner string

// The owners. Of a host whose systemd does not run the master, they are Nobody or NotKnown.
const (
	NotKnown Owner = ""        // it is not known
	Nobody   Owner = "nobody"  // no socket listens there
	TheUnit  Owner = "unit"    // the master's
	Another  Owner = "another" // of another program
)

// at returns whose the socket at an address is.
func (s sight) at(address string) Owner {
	host, _, err := sockets.Split(address)
	isName := err == nil && len(puppetclient.Addresses(host)) == 0
	if len(s.listeners) == 0 || isName {
		return NotKnown
	}
	found := s.listeners.At(address)
	if len(found) == 0 {
		return Nobody
	}

	owner := s.of(found[0])
	for _, l := range found[1:] {
		if s.of(l) != owner {
			return Another // sockets of two owners share the address: either owner may answer
		}
	}
	return owner
}

// of returns whose a socket is, by its control group or, where that is not known, by its user.
func (s sight) of(l sockets.Listener) Owner {
	isUnits := l.User == s.unit.User
	known := s.unit.User != 0
	if s.unit.Cgroup != 0 && l.Cgroup != 0 {
		isUnits = l.Cgroup == s.unit.Cgroup
		known = true
	}

	if !known {
		return NotKnown
	}
	if isUnits {
		return TheUnit
	}
	return Another
}

// candidate is another address at which the unit listens, and the socket there.
type candidate struct{ address, socket string }

// place is where the master is to be probed.
type place struct {
	address string
	// candidates are where the unit listens besides. The master may be there, if it does not answer at address.
	candidates []candidate
	// unitHere is set if the unit listens at address, too.
	unitHere bool
	// notMaster is set if what answers at address is not the master: its unit is stopped.
	notMaster bool
	// doubted is set if what answers at address is not the unit's, and counts for want of something better.
	doubted bool
}

// place decides where the master is to be probed. It is probed at inUse now, and the configuration has it at assumed.
// healthy is set if what is probed has answered that it is. A unit that has not run since the host booted says nothing:
// the master may be a container, for example.
func (s sight) place(assumed, inUse string, healthy bool) place {
	stay := place{address: inUse}
	if !s.unit.Ran {
		return stay
	}

	whereAssumed := s.at(assumed)
	if whereAssumed == TheUnit {
		return place{address: assumed}
	}
	here := s.at(inUse)
	if !s.unit.Runs() {
		stay.notMaster = here != TheUnit
		return stay
	}

	isFound := here == TheUnit && healthy
	if whereAssumed == NotKnown || isFound {
		return stay
	}
	stay.candidates = s.candidates(inUse)
	stay.unitHere = here == TheUnit
	stay.doubted = here == Another
	return stay
}

// candidates returns where the unit listens, but for one address.
func (s sight) candidates(inUse string) (list []candidate) {
	for _, l := range s.listeners {
		host := l.Local.Addr().String()
		if l.Local.Addr().IsUnspecified() {
			host = "localhost"
		}

		address := net.JoinHostPort(host, strconv.Itoa(int(l.Local.Port())))
		isUsable := !l.Local.Addr().IsLinkLocalUnicast() && address != inUse // a link-local address needs a zone
		if isUsable && s.at(address) == TheUnit {
			list = append(list, candidate{address: address, socket: l.ID})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return strings.Compare(a.address, b.address) })
	return slices.CompactFunc(list, func(a, b candidate) bool { return a.address == b.address })
}

// trialTime is how long a candidate may take to answer. A Puppet Server that has just started is slow.
const trialTime = 5 * time.Second

// trial is what was found at candidates.
type trial struct {
	of       *subject    // that is probed meanwhile
	address  string      // where the master is; empty if it is at none of them
	rejected []candidate // what answered there has not shown the master's certificate
}

// try probes the candidates of a place for a master that shows its certificate, a healthy master if possible. If the
// unit listens at the address in use too, only a healthy master is better.
func try(ctx context.Context, c config.Probe, credentials *puppetclient.Credentials, p place) (t trial) {
	for _, d := range p.candidates {
		c.Address = d.address
		prober := newProber(c, credentials, drain.Master)
		prober.Wait = trialTime
		prober.Timeout = trialTime // nothing is left pending
		r := prober.Probe(ctx)
		prober.Close()

		if r.Fault == nil {
			t.address = d.address
			return t
		}
		if showsItself(r) && !p.unitHere {
			t.address = cmp.Or(t.address, d.address)
		}
		silent := []check.Reason{puppetclient.Refused, puppetclient.Timeout, puppetclient.ConnectionLost}
		if !showsItself(r) && !slices.Contains(silent, r.Fault.Reason) {
			t.rejected = append(t.rejected, d)
		}
	}
	return t
}

// showsItself reports whether the unit has shown the master's certificate in an answer. The certificate was accepted,
// or it has expired or was revoked: these faults are the master's.
func showsItself(r check.Result) bool {
	ended := []check.Reason{puppetclient.ServerCertExpired, puppetclient.ServerCertRevoked}
	return r.Server != nil || r.Fault != nil && slices.Contains(ended, r.Fault.Reason)
}

// see takes into account what the kernel and systemd say now.
func (m *Monitor) see(ctx context.Context, s sight) {
	if !watchesUnit(m.config) {
		s.unit = systemd.UnitState{} // what a reload has left of it may change unseen
	}

	// systemd forgets that a unit ran which is disabled when it stops.
	m.ran[s.unit.Unit] = s.unit.Ran || m.ran[s.unit.Unit]
	s.unit.Ran = m.ran[s.unit.Unit]
	m.sight = s

	inUse := m.config.Probe.Address
	p := place{address: inUse}
	if m.config.Probe.Assumed {
		p = s.place(m.assumed, inUse, m.master().answered())
	}
	m.findings.unit(s.unit, p.notMaster, time.Now())
	m.doubted = p.doubted

	if p.address != inUse {
		m.move(ctx, p.address)
		return
	}
	m.search(ctx, p)
}

// search tries where else the master may be.
func (m *Monitor) search(ctx context.Context, p place) {
	// What is no Puppet Server is not asked again and again.
	m.rejected = slices.DeleteFunc(m.rejected, func(d candidate) bool { return !slices.Contains(p.candidates, d) })
	p.candidates = slices.DeleteFunc(p.candidates, func(d candidate) bool { return slices.Contains(m.rejected, d) })
	if len(p.candidates) == 0 || m.searching {
		return
	}

	m.searching = true
	of := m.master()
	c := m.config.Probe
	credentials := m.credentials
	m.work.Go(func() {
		t := try(ctx, c, credentials, p)
		t.of = of
		send(ctx, m.trials, t)
	})
}

// tried takes into account what was found at candidates.
func (m *Monitor) tried(ctx context.Context, t trial) {
	if !m.watches(t.of) {
		return // another configuration is in use
	}
	m.searching = false
	m.rejected = append(m.rejected, t.rejected...)
	if t.address != "" {
		m.move(ctx, t.address)
	}
}

// move has the master probed at another address.
func (m *Monitor) move(ctx context.Context, address string) {
	m.audit.log.Info("the master is probed at another address", "before", m.config.Probe.Address, "address", address,
		"unit", m.sight.unit.Unit)
	c := m.config
	c.Probe.Address = address
	m.configure(c)
	m.start(ctx)
}
