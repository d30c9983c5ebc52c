// Package fleet is the witness of a departure: it asks the other masters of a pool as a balancer asks (ask.go), and
// Judge, which is pure, says what of their answers keeps this master (judge.go).
package fleet

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
)

// NameHeader has the certname of a master in its answer to another master. Behind NAT, a master may reach itself at an
// address that its host does not have. It knows itself by the header then.
const NameHeader = "Pmcheck-Master"

// UserAgent is the User-Agent of a master that asks another master on its way out of the pool. A daemon does not take
// such a client for a balancer.
const UserAgent = "pmcheck-fleet"

// Places is how many masters of package leave pause for different times before they ask again: by their place, which is
// random for a master that does not know itself.
const Places = 12

// answerTime is how long a master may take to answer.
const answerTime = 2 * time.Second

// Witness is another master of the fleet, by its answer to a question such as a balancer's.
type Witness struct {
	Host string
	Code int           // the status code; 0 if it is silent
	For  time.Duration // how long it has served, or not served, by its own clock; 0 if it does not say
}

// Asker returns a function that asks the members of a fleet, for a pool that balancers' views do not decide;
// nil if there are no members. The function returns the answers of the other masters, and how many of them are sorted
// before this one. A member that has an address of this host, or answers by this master's certname, is this master.
func Asker(members []string, certname string) func(ctx context.Context) (others []Witness, place int) {
	if len(members) == 0 {
		return nil
	}
	members = slices.Compact(slices.Sorted(slices.Values(members)))

	return func(ctx context.Context) (others []Witness, place int) {
		asked := make([]Witness, len(members))
		isOwn := make([]bool, len(members))
		var work sync.WaitGroup
		for i, member := range members {
			work.Go(func() { asked[i], isOwn[i] = ask(ctx, member, certname) })
		}
		work.Wait()

		place = rand.IntN(Places) // if no member is known to be this master
		for i, w := range asked {
			if isOwn[i] {
				place = len(others)
				continue
			}
			others = append(others, w)
		}
		return others, place
	}
}

// ask asks one member, and reports whether it is this master.
func ask(ctx context.Context, member, certname string) (w Witness, isOwn bool) {
	w.Host = member
	u, err := config.MemberURL(member)
	if err != nil {
		return w, false
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()

	var reachesItself atomic.Bool // a dial may outlive the round trip
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if sockets.IsLocal(address) {
			reachesItself.Store(true)
		}
		return nil
	}}
	transport := &http.Transport{
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 16 << 10,
		DialContext:            dialer.DialContext,
	}
	request := &http.Request{URL: u.JoinPath("/"), Header: http.Header{"User-Agent": {UserAgent}}}
	resp, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return w, reachesItself.Load()
	}
	defer resp.Body.Close()

	w.Code = resp.StatusCode
	w.For = unchangedFor(resp.Header)
	return w, isNamesake(resp.Header, certname) || reachesItself.Load()
}

// isNamesake reports whether a member answers by a certname; false if the certname is not known.
func isNamesake(answer http.Header, certname string) bool {
	return certname != "" && answer.Get(NameHeader) == certname
}

// unchangedFor returns for how long a member has been answering as it does, by its own clock; 0 if it does not say.
func unchangedFor(answer http.Header) time.Duration {
	said, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return 0
	}
	since, err := http.ParseTime(answer.Get("Last-Modified"))
	if err != nil {
		return 0
	}
	return max(0, said.Sub(since))
}
