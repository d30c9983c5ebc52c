package monitor

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/systemd"
)

// What the kernel says of the programs in the table: control group and user.
const (
	unitGroup, balancerGroup, initGroup, dockerGroup = 10, 20, 30, 40
	root, puppet, haproxy                            = 0, 52, 110
)

func socket(at string, group uint64, user uint32) sockets.Listener {
	return sockets.Listener{ID: at, Local: netip.MustParseAddrPort(at), Cgroup: group, User: user}
}

// TestPlaceIsWhereTheUnitListens: an answer counts unless what is known of the unit speaks against it.
func TestPlaceIsWhereTheUnitListens(t *testing.T) {
	const home = "localhost:8140"
	const found = "localhost:8141"
	pmcheck := socket("[::]:9200", 50, 999) // where the kernel tells of listeners, there is always one

	active := systemd.UnitState{Unit: "u", Active: "active", Ran: true, Cgroup: unitGroup, User: puppet}
	starting := active
	starting.Active = "activating"
	stopped := systemd.UnitState{Unit: "u", Active: "inactive", Ran: true, User: puppet}
	failed := stopped
	failed.Active = "failed"
	never := systemd.UnitState{Unit: "u", Active: "inactive", User: puppet}
	ofRoot := systemd.UnitState{Unit: "u", Active: "active", Ran: true, Cgroup: unitGroup}
	oldSystemd := active
	oldSystemd.Cgroup = 0

	master := socket("[::]:8140", unitGroup, puppet)
	moved := socket("[::]:8141", unitGroup, puppet)
	balancer := socket("0.0.0.0:8140", balancerGroup, root)
	at := func(address string) []candidate { return []candidate{{address, address}} }
	listensAt := func(socket string) []candidate { return []candidate{{found, socket}} }

	for _, tt := range []struct {
		name      string
		unit      systemd.UnitState
		listeners []sockets.Listener
		inUse     string // default: home
		healthy   bool
		want      place
	}{
		// As before there were control groups.
		{"a master alone", active, []sockets.Listener{master}, "", true, place{address: home}},
		{"no systemd", systemd.UnitState{}, []sockets.Listener{balancer}, "", true, place{address: home}},
		{"a container beside a unit that has not run", never, []sockets.Listener{socket("[::]:8140", 60, puppet)}, "",
			true, place{address: home}},
		{"docker-proxy beside a unit that has not run", never,
			[]sockets.Listener{socket("0.0.0.0:8140", dockerGroup, root)}, "", true, place{address: home}},
		{"a kernel that does not tell of listeners", active, nil, "", true, place{address: home}},
		{"a kernel without control groups, a unit of root", ofRoot, []sockets.Listener{socket("[::]:8140", 0, root)}, "",
			true, place{address: home}},

		// A balancer on the master's own host.
		{"a balancer, unit runs", active, []sockets.Listener{balancer, moved}, "", true,
			place{address: home, candidates: listensAt("[::]:8141"), doubted: true}},
		{"found", active, []sockets.Listener{balancer, moved}, found, true, place{address: found}},
		{"found, not healthy", active, []sockets.Listener{balancer, moved}, found, false,
			place{address: found, unitHere: true}},
		{"found, not healthy, another port", active,
			[]sockets.Listener{balancer, moved, socket("[::]:8170", unitGroup, puppet)}, found, false,
			place{address: found, candidates: []candidate{{"localhost:8170", "[::]:8170"}}, unitHere: true}},
		{"found, stopped", stopped, []sockets.Listener{balancer}, found, false, place{address: found, notMaster: true}},
		{"found, starts", starting, []sockets.Listener{balancer}, found, false, place{address: found}},
		{"found, at another port after a restart", active,
			[]sockets.Listener{balancer, socket("[::]:8142", unitGroup, puppet)}, found, false,
			place{address: found, candidates: []candidate{{"localhost:8142", "[::]:8142"}}}},
		{"found, systemd does not answer", systemd.UnitState{}, []sockets.Listener{balancer, moved}, found, true,
			place{address: found}},
		{"found, then the unit has the port", active, []sockets.Listener{master}, found, true, place{address: home}},
		{"a balancer, unit starts", starting, []sockets.Listener{balancer}, "", true, place{address: home, doubted: true}},
		{"a balancer, unit stopped", stopped, []sockets.Listener{balancer}, "", true, place{address: home, notMaster: true}},
		{"a balancer, unit failed", failed, []sockets.Listener{balancer}, "", true, place{address: home, notMaster: true}},
		{"a balancer, unit has not run", never, []sockets.Listener{balancer}, "", true, place{address: home}},
		{"the balancer has not started, and waits for pmcheck", active, []sockets.Listener{moved}, "", false,
			place{address: home, candidates: listensAt("[::]:8141")}},
		{"two workers of a balancer share the port", active, []sockets.Listener{balancer, balancer, moved}, "", true,
			place{address: home, candidates: listensAt("[::]:8141"), doubted: true}},

		// By the user, where the control group is missing.
		{"by user: a master alone", oldSystemd, []sockets.Listener{socket("[::]:8140", 0, puppet)}, "", true,
			place{address: home}},
		{"by user: a balancer", oldSystemd,
			[]sockets.Listener{socket("0.0.0.0:8140", 0, root), socket("[::]:8141", 0, puppet)}, "", true,
			place{address: home, candidates: listensAt("[::]:8141"), doubted: true}},
		{"by user: another user's", oldSystemd, []sockets.Listener{socket("0.0.0.0:8140", 0, haproxy)}, "", true,
			place{address: home, doubted: true}},
		{"by user: stopped, and started by hand", stopped, []sockets.Listener{socket("[::]:8140", 70, puppet)}, "",
			true, place{address: home}},

		// Others who have the port.
		{"PE, with its ports", active, []sockets.Listener{master, socket("[::]:8170", unitGroup, puppet)}, "", true,
			place{address: home}},
		{"a proxy has 127.0.0.1", active, []sockets.Listener{socket("127.0.0.1:8140", balancerGroup, root),
			socket("192.0.2.1:8140", unitGroup, puppet)}, "", true,
			place{address: home, candidates: at("192.0.2.1:8140"), doubted: true}},
		{"a balancer has another address, and the master its own", active, []sockets.Listener{
			socket("192.0.2.9:8140", balancerGroup, root), socket("192.0.2.1:8140", unitGroup, puppet)}, "", false,
			place{address: home, candidates: at("192.0.2.1:8140")}},
		{"a proxy that ends TLS", active, []sockets.Listener{balancer, socket("127.0.0.1:8080", unitGroup, puppet)}, "", true,
			place{address: home, candidates: at("127.0.0.1:8080"), doubted: true}},
		{"a unit that runs a container behind docker-proxy", ofRoot,
			[]sockets.Listener{socket("0.0.0.0:8140", dockerGroup, root)}, "", true, place{address: home, doubted: true}},
		{"the same, stopped, and docker-proxy lives on", stopped,
			[]sockets.Listener{socket("0.0.0.0:8140", dockerGroup, root)}, "", true, place{address: home, notMaster: true}},
		{"DNAT to the unit's port", active, []sockets.Listener{moved}, "", true,
			place{address: home, candidates: listensAt("[::]:8141")}},
		{"DNAT to another host, unit stopped", stopped, nil, "", true, place{address: home, notMaster: true}},
		{"a socket that systemd opened for the unit", active, []sockets.Listener{socket("[::]:8140", initGroup, root)}, "",
			true, place{address: home, doubted: true}},
		{"a socket that systemd opened for a proxy", active,
			[]sockets.Listener{socket("[::]:8140", initGroup, root), moved}, "", true,
			place{address: home, candidates: listensAt("[::]:8141"), doubted: true}},
		{"an address that needs a zone", active,
			[]sockets.Listener{balancer, socket("[fe80::1]:8140", unitGroup, puppet)}, "", true,
			place{address: home, doubted: true}},
	} {
		s := sight{unit: tt.unit}
		if tt.listeners != nil {
			s.listeners = append(sockets.Listeners{pmcheck}, tt.listeners...)
		}
		inUse := tt.inUse
		if inUse == "" {
			inUse = home
		}
		got := s.place(home, inUse, tt.healthy)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(place{}, candidate{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
