package rotation

import (
	"fmt"
	"slices"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// LastServer returns the balancers that would have no server left without this
// master. One is enough to refuse a drain: its agents would reach no server. An
// empty service stands for every service.
func LastServer(s api.Status, service string) []api.Obstacle {
	return lastServer(sendingHere(s, service))
}

// onlyServer returns those of LastServer that never had another server.
func onlyServer(s api.Status, service string) []api.Obstacle {
	return lastServer(slices.DeleteFunc(sendingHere(s, service), func(b api.Balancer) bool {
		return !b.OthersSeen.IsZero()
	}))
}

func lastServer(sending []api.Balancer) (list []api.Obstacle) {
	for _, b := range sending {
		if b.Last() {
			list = append(list, obstacle(api.ObstacleLast, b.Label(),
				"balancer %s has no other server for %s: it would have none left", b.Label(), b.Name))
		}
	}
	return list
}

// ServerMayLeave reports whether a hold of everything would leave a balancer without a server,
// but one of the service server would not, and a balancer asks for that, or the gate sends its
// agents elsewhere. It is so on the host of the only CA.
func ServerMayLeave(s api.Status) bool {
	elsewhere := Heard(s, monitor.Server) || gateSendsElsewhere(s)
	return elsewhere && len(LastServer(s, "")) > 0 && len(LastServer(s, monitor.Server)) == 0
}

// Turn returns the balancers that have lost another server within balancer.ExpectedBack and, where
// the gate runs, the masters of the fleet that no longer serve: these are expected back. A
// balancer that never had another server, as with a single master, is not waited for, and
// neither is a server that has been out for longer.
func Turn(s api.Status, service string) (list []api.Obstacle) {
	for _, b := range sendingHere(s, service) {
		missing, since := b.Missing(s.Time)
		if !missing {
			continue
		}
		o := obstacle(api.ObstacleTurn, b.Label(), "balancer %s has been missing a server for %s",
			b.Label(), text.Age(since))
		if b.Others() == 0 {
			o.Text = fmt.Sprintf("balancer %s has had no other server for %s", b.Label(), text.Age(since))
		}
		o.Seconds = since.Seconds()
		list = append(list, o)
	}
	return append(list, turnOfFleet(s, service)...)
}

// Replaced reports whether agents go to other servers while this master is drained. A
// balancer that never had another server, such as one for the CA, does not count,
// unless all are like that and no gate sends the agents of catalogs elsewhere. Without a
// balancer that sends its view, Replaced is true, but not for the last master of a fleet
// behind gates.
func Replaced(s api.Status, service string) bool {
	if lastOfFleet(s, service) != "" {
		return false
	}
	sending := sendingHere(s, service)
	server, _ := s.Service(monitor.Server)
	news := server.Mode == drain.Ready && (service == "" || service == monitor.Server) // to the gate
	replaced := len(sending) == 0 || news && gateSendsElsewhere(s)
	for _, b := range sending {
		switch {
		case b.Others() > 0:
			replaced = true
		case !b.OthersSeen.IsZero():
			return false
		}
	}
	return replaced
}

// sendingHere returns the balancers that say that they send agents to this master, and to
// which a hold would be news.
func sendingHere(s api.Status, service string) (list []api.Balancer) {
	for _, b := range s.Balancers {
		if b.View != nil && b.View.Sends() && (service == "" || b.Service == service) && !held(s, b) {
			list = append(list, b)
		}
	}
	return list
}

// held reports whether what a balancer asks for is held already, as the balancer
// knows or is about to learn.
func held(s api.Status, b api.Balancer) bool {
	v, known := s.Service(b.Service)
	return known && v.Mode != drain.Ready
}
