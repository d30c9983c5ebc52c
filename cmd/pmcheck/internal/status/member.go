package status

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// MemberURL returns the URL of pmcheck on a master of the pool. A member is a name or
// an address, with or without a port. The default port is 9200. MemberURL returns an
// error for any other text.
func MemberURL(member string) (*url.URL, error) {
	if !config.IsMember(member) {
		return nil, fmt.Errorf("%q is not a host: write m1 or m1:9200", member)
	}
	host := member
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + host + "]"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "9200")
	}
	return &url.URL{Scheme: "http", Host: host}, nil
}

// fleetTime is how long a master may take to answer.
const fleetTime = 3 * time.Second

// Member is one master of a pool as this host sees it. It is also the JSON.
type Member struct {
	Host   string  `json:"host"`
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"` // why there is no status
	// Silent means that nothing answered there. A host that answers may still not tell.
	Silent bool `json:"-"`
}

// Serves reports whether the member has answered and tells balancers to use it.
func (m Member) Serves() bool { return m.Status != nil && m.Status.Serves() }

// atOnce is how many masters of a pool are asked at the same time. Each takes a name lookup
// and a connection, and those that are silent take fleetTime.
const atOnce = 128

// AskAll asks the masters of a pool. clients[i] asks hosts[i], and the members are in the
// order of the hosts.
func AskAll(ctx context.Context, hosts []string, clients []Client) []Member {
	members := make([]Member, len(hosts))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i := range hosts {
		work.Go(func() error {
			members[i] = askMember(ctx, hosts[i], clients[i])
			return nil
		})
	}
	_ = work.Wait() // a member that cannot be asked is no error
	return members
}

func askMember(ctx context.Context, host string, client Client) Member {
	ctx, cancel := context.WithTimeout(ctx, fleetTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return Member{Host: host, Error: err.Error(), Silent: errors.Is(err, ErrNoDaemon)}
	}
	return Member{Host: host, Status: &status}
}

// OwnNames returns what the setting fleet may call this host, besides its certname.
func OwnNames() (names []string) {
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	for _, a := range tcp.OwnAddresses() { // without them, the fleet has to name the host
		if !a.IsLoopback() {
			names = append(names, a.String())
		}
	}
	return names
}
