package rotation

import (
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// Returning returns what keeps a service from being in service again since its
// hold was lifted: its own answer, and balancers that do not send agents yet.
func Returning(s api.Status, service string, since time.Time) (list []api.Obstacle) {
	if v, known := s.Service(service); known && !v.Serves() {
		list = append(list, outOfService(s, v))
	} else if known {
		list = append(append(list, gateClosed(s, v)...), unheard(s)...)
	}
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		switch {
		case !b.Seen.After(since):
			list = append(list, unseen(b))
		case b.View != nil && (!b.View.Sends() || b.View.Steps != 0):
			list = append(list, obstacle(api.ObstacleNotSending, b.Label(),
				"%s does not send yet (%s, %d sessions)", b.Label(), b.View, b.View.Sessions))
		case b.View == nil:
			list = append(list, untold(s, b, false)...)
		}
	}
	return list
}

// InService returns what keeps a service from being used again and, when nothing does, the next
// master from leaving: the slot that this one still has. An empty service stands for every
// service, of which only the master itself must be healthy: another one that does not answer
// 200, and its balancers, are not waited for.
func InService(s api.Status, service string, since time.Time) (list []api.Obstacle) {
	for _, v := range s.Services {
		wanted := v.Name == service || service == "" && (v.Name == monitor.Server || v.Serves())
		if wanted {
			list = append(list, Returning(s, v.Name, since)...)
		}
	}
	if len(list) == 0 && Budgeted(service) {
		return slotKept(s)
	}
	return list
}

// outOfService says why a service is not in service.
func outOfService(s api.Status, v api.ServiceStatus) api.Obstacle {
	path := "/" + v.Name
	if v.Mode == drain.Ready {
		return obstacle(api.ObstacleAnswer, path, "%s is %s", path, v.Answer.Body)
	}
	holders := strings.Join(s.Holders(v), ", ")
	return obstacle(api.ObstacleHeld, holders, "%s is held in %s by %s", path, v.Mode, holders)
}

// Standing returns the obstacles of a service in its current mode: Leaving while
// it is held, Returning while it is ready.
func Standing(s api.Status, v api.ServiceStatus, connections []tcp.Connection) []api.Obstacle {
	if v.Mode == drain.Ready {
		return Returning(s, v.Name, v.ModeSince)
	}
	return Leaving(s, v.Name, connections, v.ModeSince)
}
