package haproxy

import "slices"

// A Case is how one of the two servers of a backend, own, comes to a state, with fall 3, rise 2, and weight 100 unless
// its options name another: by the answers to the health checks of its peer, then by those to its own, then by
// a command of the administrator. The headers of real releases in each state are in
// ../../balancer/testdata/haproxy.txt.
type Case struct {
	State     string
	Own, Peer []int
	Alone     bool   // there is no peer
	Options   string // of own, in HAProxy's configuration; slowstart and weight are the peer's, too
	Command   string // "set server", but for the name of the server
}

// Cases returns the states in which a server can be.
func Cases() []Case {
	after := func(codes ...int) []int { return append([]int{200}, codes...) }
	up, nolb, down := after(), after(404), after(503, 503, 503)
	again := slices.Concat(down, []int{200, 200})
	const ramp, ramp1 = "slowstart 10000s", "slowstart 10000s weight 1" // 1% for more than a minute
	return []Case{
		{State: "starting"},
		{State: "up", Own: up, Peer: up},
		{State: "going down 2", Own: after(503, 503), Peer: up},
		{State: "down", Own: down, Peer: up},
		{State: "coming up", Own: again[:5], Peer: up},
		{State: "going down 2, then 200", Own: after(503, 503, 200), Peer: up},
		{State: "going down 1, then 404", Own: after(503, 404), Peer: up},
		{State: "starting, then 404", Own: []int{404}, Peer: up}, // HAProxy starts or reloads while it is out
		{State: "starting, then 503", Own: []int{503}, Peer: up},
		{State: "down, then 404", Own: after(503, 503, 503, 404), Peer: up},
		{State: "both down", Own: down, Peer: down},
		{State: "nolb", Own: nolb, Peer: up},
		{State: "back from nolb, peer nolb", Own: after(404, 200), Peer: nolb},
		{State: "nolb, peer down", Own: nolb, Peer: down},
		{State: "nolb, going down 1", Own: after(404, 503), Peer: up},
		{State: "nolb, then down", Own: after(404, 503, 503, 503), Peer: up},
		{State: "slowstart", Options: ramp, Own: again, Peer: up},
		{State: "slowstart after nolb", Options: ramp, Own: after(404, 200), Peer: up},
		{State: "slowstart of both", Options: ramp, Own: again, Peer: again},
		{State: "slowstart of both, weights of 1", Options: ramp1, Own: again, Peer: again},
		{State: "drained by its administrator", Own: up, Peer: up, Command: "state drain"},
		{State: "unused backup", Options: "backup", Own: up, Peer: up},
		{State: "used backup, peer nolb", Options: "backup", Own: up, Peer: nolb},
		{State: "used backup, peer down", Options: "backup", Own: up, Peer: down},
		{State: "backup nolb, peer down", Options: "backup", Own: nolb, Peer: down},
		{State: "weight 0 by its administrator", Own: up, Peer: up, Command: "weight 0"},
		{State: "the only server", Alone: true, Own: up},
		{State: "the only server nolb", Alone: true, Own: nolb},
		{State: "the only server down", Alone: true, Own: down},
	}
}
