package cli

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

const (
	// statusTime is how long a master may take to send its status.
	statusTime = 3 * time.Second
	// atOnce is how many masters of a pool are asked at the same time.
	atOnce = 128
)

// member is one master of a pool as this host sees it. It is also the JSON.
type member struct {
	Host   string         `json:"host"`
	Status *status.Status `json:"status,omitempty"`
	Error  string         `json:"error,omitempty"` // why there is no status
}

// askMembers asks the masters of a pool, and returns the members in the order of the hosts.
func askMembers(ctx context.Context, hosts []string) []member {
	members := make([]member, len(hosts))

	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, host := range hosts {
		work.Go(func() error {
			members[i] = askMember(ctx, host)
			return nil
		})
	}
	_ = work.Wait() // a member that cannot be asked is no error
	return members
}

func askMember(ctx context.Context, host string) member {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()

	var s status.Status
	u, err := config.MemberURL(host)
	if err == nil {
		s, err = client.Daemon{URL: u.String()}.Status(ctx)
	}
	if err != nil {
		return member{Host: host, Error: err.Error()}
	}
	return member{Host: host, Status: &s}
}
