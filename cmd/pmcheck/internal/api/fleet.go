package api

import (
	"context"
	"sync"
	"time"
)

// fleetTime is how long a master may take to tell its status.
const fleetTime = 3 * time.Second

// Member is one master of a pool, as it is seen from here, and its JSON.
type Member struct {
	Host   string  `json:"host"`
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"` // why there is no status
}

// AskAll asks all masters of a pool at the same time. A client belongs to the
// host of the same index.
func AskAll(ctx context.Context, hosts []string, clients []Client) []Member {
	ctx, cancel := context.WithTimeout(ctx, fleetTime)
	defer cancel()
	members := make([]Member, len(hosts))
	var work sync.WaitGroup
	for i := range hosts {
		work.Go(func() {
			members[i].Host = hosts[i]
			status, err := clients[i].Status(ctx)
			if err != nil {
				members[i].Error = err.Error()
				return
			}
			members[i].Status = &status
		})
	}
	work.Wait()
	return members
}
