package leave

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// witnessTime is how long a master of the fleet may take to answer.
	witnessTime = 3 * time.Second
	// servesFor is how long another master must have served to be relied on.
	servesFor = 30 * time.Second
	// turns is how many masters pause for different times before they ask again.
	turns = 12
	// turnTime is the difference of their pauses: the longest answer, and some time for the daemon to notice a hold.
	turnTime = 2500 * time.Millisecond
	// muteTime is how long a fleet that is silent as a whole delays a master whose balancers show other servers.
	muteTime = 30 * time.Second
)

// Witness is another master of the fleet, by its answer to a question such as a balancer's.
type Witness struct {
	Host string
	Code int           // the status code; 0 if it is silent
	For  time.Duration // since when it has served, or not served, by its own clock
}

// NewFleet returns a function that asks the members of a fleet, for a pool whose balancers send no view; nil if there
// are no members. The function returns the answers of the other masters, and how many of them are sorted before this
// one. A member that has an address of this host is this master.
func NewFleet(members []string) func(ctx context.Context) (others []Witness, place int) {
	if len(members) == 0 {
		return nil
	}
	members = slices.Compact(slices.Sorted(slices.Values(members)))

	return func(ctx context.Context) (others []Witness, place int) {
		asked := make([]Witness, len(members))
		isOwn := make([]bool, len(members))
		var work sync.WaitGroup
		for i, member := range members {
			work.Go(func() { asked[i], isOwn[i] = ask(ctx, member) })
		}
		work.Wait()

		place = rand.IntN(turns) // if no member is known to be this master
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

// ask asks one member, and reports whether its address is one of this host.
func ask(ctx context.Context, member string) (w Witness, isOwn bool) {
	w.Host = member
	u, err := config.MemberURL(member)
	if err != nil {
		return w, false
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
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
	request := &http.Request{URL: u.JoinPath("/"), Header: http.Header{"User-Agent": {status.FleetAgent}}}
	resp, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return w, reachesItself.Load()
	}
	defer resp.Body.Close()

	w.Code = resp.StatusCode
	w.For = unchangedFor(resp.Header)
	return w, reachesItself.Load()
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

// A fleetView is what the other masters of a fleet say, and what of that keeps a master from leaving.
type fleetView struct {
	obstacles []status.Obstacle
	silent    []string // members that do not answer
	serving   int      // members that answer 200
	out       int      // members that do not serve, and are expected back
	others    int      // all members but this master
}

// judge counts what the other masters of a fleet say. Another master must have served for 30 s, and with this master
// out no more than maxOut may be. A silent member is named, and not waited for: for how long it has been silent is not
// known.
func judge(others []Witness, maxOut config.MaxOut) fleetView {
	v := fleetView{others: len(others)}
	reliable := 0
	var outs []status.Obstacle
	for _, w := range others {
		switch {
		case w.Code == 0:
			v.silent = append(v.silent, w.Host)
		case w.Code == http.StatusOK:
			v.serving++
			if w.For >= servesFor {
				reliable++
			}
		case w.For < balancer.ExpectedBack:
			v.out++
			outs = append(outs, balancer.NewObstacle(balancer.ObstacleTurn,
				"%s of the fleet does not serve: %d, for %s", w.Host, w.Code, text.Age(w.For)))
		}
	}

	tooMany := v.out >= maxOut.Of(len(others)+1)
	if tooMany {
		v.obstacles = outs
		return v
	}

	if reliable > 0 || len(others) == 0 {
		return v
	}
	mayServeSoon := v.serving+v.out+len(v.silent) > 0
	if mayServeSoon {
		v.obstacles = obstacle(balancer.ObstacleTurn, "no other master of the fleet has served for %s",
			text.Duration(servesFor))
		return v
	}
	v.obstacles = obstacle(balancer.ObstacleLast, "no other master of the fleet serves")
	return v
}

// Misses returns what keeps a master from leaving by what the others of its fleet say, and which of them are silent.
func Misses(others []Witness, maxOut config.MaxOut) (list []status.Obstacle, silent []string) {
	v := judge(others, maxOut)
	return v.obstacles, v.silent
}

// asksFleet reports whether the fleet is asked about a service in a mode: unless views of balancers that the
// configuration names decide. A budget that counts is asked instead of the fleet.
func (w World) asksFleet(s status.Status, service drain.Service, mode drain.Mode) bool {
	return w.Fleet != nil && Budgeted(service) && !s.Balancers.Decide(drain.Master, mode, s.Time)
}

// A fleetTurn is a departure's turn in its fleet.
type fleetTurn struct {
	departure *departure
	view      fleetView
	paused    bool      // the others let the master go, and it has paused since
	muteSince time.Time // since when no other master answers
	named     string    // the silent members that were named last
}

// askFleet asks the second witness: the other masters. It blocks until they can do without this one.
func (d *departure) askFleet(ctx context.Context) error {
	if !d.world.asksFleet(d.seen.status, d.want.Hold.Service, d.want.Hold.Mode) {
		return nil
	}

	f := &fleetTurn{departure: d}
	left, err := d.wait(ctx, phaseFleet, 0, f.look)
	if err != nil || left == nil {
		return err
	}

	// Something that follows the hold blindly would take the last server from agents.
	if f.view.serving == 0 && d.followedBlindly() {
		return &Error{Kind: Refused, Text: "must stay in service", Left: left}
	}
	d.world.Note("goes on without the fleet: " + balancer.Summary(left))
	return nil
}

// look asks the others. They must let this master go at two looks: masters that leave at the same time pause for
// different times in between. If something follows the hold blindly, the others must let the master go once more when
// the hold is in effect: of two masters that hold in the same moment, at least one sees the other.
func (f *fleetTurn) look(ctx context.Context) ([]status.Obstacle, error) {
	d := f.departure
	d.seen.next(ctx) // what balancers show may forbid the way out meanwhile
	others, place := d.world.Fleet(ctx)
	f.view = judge(others, d.world.MaxOut)
	f.nameSilent()
	d.patience.noteFleet(f.view.out, f.view.others)

	list := f.obstacles()
	if isLast(list) {
		return nil, &Error{Kind: Refused, Text: "must stay in service", Left: list}
	}
	if len(list) > 0 {
		f.paused = false
		err := d.retreat()
		f.pause(ctx, turnTime)
		return list, err
	}

	if !f.paused {
		f.paused = true
		again := turnTime * time.Duration(place%turns)
		f.pause(ctx, again)
		return obstacle(balancer.ObstacleTurn, "asks the fleet again in %s", again), nil
	}

	if !d.followedBlindly() || d.inEffect() {
		return nil, nil
	}
	if d.set.Mode == "" {
		if err := d.hold(drain.LeavingInTurn); err != nil {
			return nil, err
		}
	}
	return obstacle(balancer.ObstacleTurn, "asks the fleet once more, held"), nil
}

// obstacles returns what the fleet says, as far as it counts beside what balancers show.
func (f *fleetTurn) obstacles() []status.Obstacle {
	d := f.departure
	isPooled := len(d.hearing().Pool(d.seen.status.Time)) > 0

	// The rule of the daemon protects the pool, unless something follows the hold blindly. Then a silent fleet, whose
	// allow perhaps names balancers only, need not be waited for.
	isMute := f.muteFor() >= muteTime
	if isMute && isPooled && !d.followedBlindly() {
		return nil
	}

	// A master that a stranger holds up for 15 minutes looks gone to the others, but not to its balancers.
	list := f.view.obstacles
	if isLast(list) && isPooled && d.party.insists() {
		return obstacle(balancer.ObstacleTurn, "%s, but a balancer has another server", list[0].Text)
	}
	return list
}

// isLast reports whether no other master of the fleet serves, or is expected to.
func isLast(list []status.Obstacle) bool {
	return len(list) > 0 && list[0].Kind == balancer.ObstacleLast
}

// muteFor returns for how long no other master has answered.
func (f *fleetTurn) muteFor() time.Duration {
	isMute := f.view.others > 0 && len(f.view.silent) == f.view.others
	if !isMute {
		f.muteSince = time.Time{}
		return 0
	}
	if f.muteSince.IsZero() {
		f.muteSince = time.Now()
	}
	return time.Since(f.muteSince)
}

// nameSilent names the members that do not answer, whenever they are others than before.
func (f *fleetTurn) nameSilent() {
	line := strings.Join(f.view.silent, ", ")
	if line != "" && line != f.named {
		f.departure.world.Note("of the fleet do not answer: " + line)
	}
	f.named = line
}

// pause waits before the next look, but not beyond the end of the phase.
func (f *fleetTurn) pause(ctx context.Context, d time.Duration) {
	pause(ctx, min(d, time.Until(f.departure.party.end(phaseFleet))))
}

// followedBlindly reports whether something follows the hold as soon as it is written: a balancer without a view, or
// the gate. Of a silent daemon it is assumed.
func (d *departure) followedBlindly() bool {
	s := d.seen.status
	return d.seen.silent() || len(d.hearing().Blind()) > 0 || s.Gate.Runs(s.Time)
}

// inEffect reports whether the daemon acts on the hold. Of a silent daemon it is assumed.
func (d *departure) inEffect() bool {
	if d.set.Mode == "" {
		return false
	}
	v, _ := d.seen.status.Service(d.want.Hold.Service.Shown())
	return d.seen.silent() || v.Mode != drain.Ready
}
