package leave

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

const (
	// witnessTime is how long a master of the fleet may take to answer.
	witnessTime = 3 * time.Second
	// servesFor is how long another master must have served to be relied on.
	servesFor = 30 * time.Second
	// turns is how many masters pause for different times before they ask again, and turnTime the
	// difference: the longest answer, and some for the daemon to notice a hold.
	turns, turnTime = 12, 2500 * time.Millisecond
)

// Witness is another master of the fleet, by its answer to a question such as a balancer's.
type Witness struct {
	Host string
	Code int           // the status code; 0 if it is silent
	For  time.Duration // since when it has served, or not served, by its own clock
}

// NewFleet returns a function that asks the members of a fleet, for a pool whose balancers send no view. It returns
// the answers of the other masters, and how many of them are sorted before this one; nil if there are no members. A
// member that has an address of this host is this master.
func NewFleet(members []string) func(ctx context.Context) (others []Witness, place int) {
	if len(members) == 0 {
		return nil
	}
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	return func(ctx context.Context) (others []Witness, place int) {
		answers, own := make([]Witness, len(members)), make([]bool, len(members))
		var work sync.WaitGroup
		for i, member := range members {
			work.Go(func() { answers[i], own[i] = ask(ctx, member) })
		}
		work.Wait()
		place = rand.IntN(turns) // if none is known to be this master
		for i, w := range answers {
			if own[i] {
				place = len(others)
			} else {
				others = append(others, w)
			}
		}
		return others, place
	}
}

// ask asks one member. own reports that its address is one of this host.
func ask(ctx context.Context, member string) (w Witness, own bool) {
	w.Host = member
	var itself atomic.Bool // a dial may outlive the round trip
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	u, err := config.MemberURL(member)
	if err != nil {
		return w, false
	}
	asks := &http.Request{URL: u.JoinPath("/"), Header: http.Header{"User-Agent": {status.FleetAgent}}}
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if tcp.IsLocal(address) {
			itself.Store(true)
		}
		return nil
	}}
	transport := &http.Transport{
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 16 << 10,
		DialContext:            dialer.DialContext,
	}
	resp, err := transport.RoundTrip(asks.WithContext(ctx))
	if err != nil {
		return w, itself.Load()
	}
	defer resp.Body.Close()
	w.Code = resp.StatusCode
	said, err := http.ParseTime(resp.Header.Get("Date"))
	since, err2 := http.ParseTime(resp.Header.Get("Last-Modified"))
	if cmp.Or(err, err2) == nil {
		w.For = said.Sub(since)
	}
	return w, itself.Load()
}

// Misses returns what keeps a master from leaving by what the others of its fleet say: another must have
// served for 30 s, and none may be expected back. A silent one is not waited for, but named, since nobody
// knows for how long it has been silent.
func Misses(others []Witness) (list []status.Obstacle, silent []string) {
	serving, expected := 0, false
	for _, w := range others {
		switch {
		case w.Code == 0:
			silent = append(silent, w.Host)
		case w.Code == http.StatusOK && w.For >= servesFor:
			serving++
		case w.Code == http.StatusOK:
			expected = true
		case w.For < balancer.ExpectedBack:
			list = append(list, balancer.NewObstacle(balancer.ObstacleTurn,
				"%s of the fleet does not serve: %d, for %s", w.Host, w.Code, text.Age(w.For)))
		}
	}
	switch {
	case serving > 0 || len(list) > 0:
	case expected || len(silent) > 0:
		list = append(list, obstacle(balancer.ObstacleTurn, "no other master of the fleet has served for %s",
			text.Duration(servesFor))...)
	case len(others) > 0:
		list = append(list, obstacle(balancer.ObstacleLast, "no other master of the fleet serves")...)
	}
	return list, silent
}
