package fleet

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

const (
	// statusTime is how long a master may take to send its status.
	statusTime = 3 * time.Second
	// atOnce is how many masters of a pool are asked at the same time.
	atOnce = 128
)

// Member is one master of a pool as this host sees it. It is also the JSON.
type Member struct {
	Host   string         `json:"host"`
	Status *status.Status `json:"status,omitempty"`
	Error  string         `json:"error,omitempty"` // why there is no status
}

// Serves reports whether the member has answered and tells balancers to use it.
func (m Member) Serves() bool { return m.Status != nil && m.Status.Serves() }

// AskAll asks the masters of a pool, and returns the members in the order of the hosts.
func AskAll(ctx context.Context, hosts []string) []Member {
	members := make([]Member, len(hosts))

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

func askMember(ctx context.Context, host string) Member {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()

	var s status.Status
	u, err := config.MemberURL(host)
	if err == nil {
		s, err = status.Client{URL: u.String()}.Status(ctx)
	}
	if err != nil {
		return Member{Host: host, Error: err.Error()}
	}
	return Member{Host: host, Status: &s}
}
