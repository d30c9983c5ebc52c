package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// hero is the top of the page: whether the master may be restarted now, which holds
// keep it out, and what balancers were told.
type hero struct {
	May     string   // the answer to "may I restart it now?"; empty where the headline is enough
	Because []string // what is in the way
	Held    []api.HoldStatus
	Stops   []string // announced stops
	Told    []told
	Asked   bool   // balancers got the answers in Told; otherwise one would get them
	Lasted  string // "In service" or "Out of service"
}

// told is an answer and the balancers that got it last.
type told struct {
	Code, Body string
	By         []string
}

func newHero(s api.Status) hero {
	server := s.Services[0]
	h := hero{Lasted: "Out of service"}
	h.May, h.Because = mayRestart(server)
	if server.Serves() {
		h.Lasted = "In service"
	}
	for _, hold := range s.Holds {
		switch {
		case hold.Mode == drain.Ready && hold.Holder == drain.Guard:
			h.Stops = append(h.Stops, hold.Reason+", until "+hold.Until.Local().Format("15:04:05 MST"))
		case hold.Mode != drain.Ready && hold.Covers(server.Name):
			h.Held = append(h.Held, hold)
		}
	}
	h.Told = toldOf(server.Name, s.Balancers)
	if h.Asked = len(h.Told) > 0; !h.Asked {
		h.Told = []told{{Code: fmt.Sprint(server.Answer.Code), Body: server.Answer.Body}}
	}
	return h
}

// mayRestart returns whether the master may be restarted now, and what is in the way.
func mayRestart(s api.ServiceStatus) (may string, because []string) {
	obstacles := s.Obstacles
	switch {
	case s.Mode != drain.Ready && len(obstacles) > 0:
		may = "Not idle yet: do not restart it."
	case s.Mode != drain.Ready && s.Verdict.Health == check.Warming:
		may = "Idle: no agent is at work on it."
	case s.Mode != drain.Ready:
		may = "Idle: it may be restarted now."
	case !s.Verdict.Health.Serves():
		return "", nil // the headline says it already
	case len(obstacles) > 0:
		may = "Not in service everywhere yet:"
	case len(s.LastServer) > 0:
		may, obstacles = "It must stay in service:", s.LastServer
	default:
		may = "Drain it before a restart."
	}
	return may, api.Texts(obstacles, 5)
}

// end returns when a hold ends.
func end(h drain.Hold, now time.Time) string {
	switch {
	case !h.Until.IsZero():
		return "ends " + left(h.Until, now) + " (" + text.Clock(h.Until) + ")"
	case h.UntilReboot:
		return "ends with the next reboot"
	}
	return "no end"
}

// toldOf groups the balancers of a service by what they were told last.
func toldOf(service string, balancers []api.Balancer) (list []told) {
	for _, b := range balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		code, body := fmt.Sprint(b.Answer.Code), b.Answer.Body
		at := slices.IndexFunc(list, func(t told) bool { return t.Code == code && t.Body == body })
		if at < 0 {
			at, list = len(list), append(list, told{Code: code, Body: body})
		}
		list[at].By = append(list[at].By, b.Label())
	}
	return list
}

// master is another master of the pool.
type master struct{ Name, URL string }

// others returns the masters of the pool without this one, which has these names besides its
// certname, and without names that are not hosts.
func others(s api.Status, names []string) (list []master) {
	own := api.Named(s.Fleet, append([]string{s.Certname}, names...))
	for _, name := range s.Fleet {
		u, err := api.MemberURL(name)
		if err == nil && !slices.Contains(own, name) {
			list = append(list, master{name, u.String() + "/"})
		}
	}
	return list
}
