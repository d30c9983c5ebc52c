package balancer

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

func TestParseViewIsStrict(t *testing.T) {
	const rest = "; address=127.0.0.1; port=8140; name=a/m1; node=lb1; weight=1/2; scur=2/4; qcur=0"
	full := View{
		State:         "UP",
		Step:          1,
		Steps:         3,
		Weight:        1,
		WeightTotal:   2,
		Sessions:      2,
		SessionsTotal: 4,
		name:          "a/m1",
		node:          "lb1",
	}
	settled := full
	settled.State, settled.Step, settled.Steps, settled.throttled = "NOLB", 0, 0, true
	for header, want := range map[string]*View{ // nil: refused
		"UP 1/3" + rest:                          &full,
		"NOLB" + rest + "; throttle=50%; future": &settled,
		"DRAIN":                                  {State: "DRAIN"},
		"MAINT":                                  {State: "MAINT"},
		"":                                       nil,
		"SIDEWAYS" + rest:                        nil,
		"up" + rest:                              nil,
		"UP 1" + rest:                            nil,
		"UP; weight=-1/2":                        nil,
		"UP; weight=1":                           nil,
		"UP; weight=99999999999999/1":            nil,
		"UP; scur=a/b":                           nil,
		"UP; name=a\x1b[31mb":                    nil,
		"UP; name=a,b":                           nil, // HAProxy has no such name
		"UP; node=" + strings.Repeat("a", maxText+1): nil,
		"UP; node=" + strings.Repeat("a", maxText):   {State: "UP", node: strings.Repeat("a", maxText)},
		"UP; " + strings.Repeat("x", maxView-3):      nil,
		"UP; " + strings.Repeat("x", maxView-4):      {State: "UP"},
	} {
		got := parseView(header)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%.60q: %+v, want %+v", header, got, want)
		}
	}
}

func TestViewCountsOtherServers(t *testing.T) {
	for _, tt := range []struct {
		header string
		last   bool
		others int
	}{
		{"UP; weight=1/2", false, 1},
		{"UP 2/3; weight=1/1", true, 0},
		{"UP; weight=0/1", false, 1},
		{"NOLB; weight=1/1", false, 1},     // out, so the total is of the others
		{"UP; weight=100/50", false, 50},   // drained in HAProxy itself, beside a lighter server
		{"UP; weight=100/200", false, 100}, // or beside two: cannot be told apart
		{"DOWN; weight=1/0", false, 0},
		{"UP", false, 0},
	} {
		v := parseView(tt.header)
		if v == nil || v.Last() != tt.last || v.OthersWeight() != tt.others {
			t.Errorf("%s: last %v, others %d; want %v, %d", tt.header, v.Last(), v.OthersWeight(), tt.last, tt.others)
		}
	}
}

func TestAViewIsShownAsHAProxySaysIt(t *testing.T) {
	for _, state := range []string{"UP", "UP 2/3", "DOWN 1/2", "NOLB"} {
		if got := parseView(state).String(); got != state {
			t.Errorf("%s, want %s", got, state)
		}
	}
}

// FuzzParseView: of any header, only names of HAProxy are kept, and no negative numbers.
func FuzzParseView(f *testing.F) {
	f.Add("UP 2/3; address=198.51.100.7; port=8140; name=puppet/m1; node=lb1; weight=1/2; scur=3/7; qcur=0")
	f.Add("UP; weight=/; scur==;;;")
	f.Fuzz(func(t *testing.T, header string) {
		v := parseView(header)
		if v != nil && (!isName(v.name) || !isName(v.node) || min(v.Weight, v.Sessions, v.OthersWeight()) < 0) {
			t.Errorf("kept %+v", v)
		}
	})
}

var lb = netip.MustParseAddr("198.51.100.1")

func record(b *Tracker, source netip.Addr, c Check, code int, now time.Time) {
	c.Source, c.Service = source, "server"
	b.Answer(c, Rule{now: now}, func(bool) answer.Answer { return answer.Answer{Code: code} })
}

// TestABalancerIsForgottenAfterItsPause: three of its intervals, at least 10 s; longer if the interval is not known,
// as after a first check, or HAProxy has the master DOWN: it then asks every downinter, as in "inter 1s downinter
// 60s", and the header of the check before still says UP. Once it has been seen to ask in that state, that is its
// interval.
func TestABalancerIsForgottenAfterItsPause(t *testing.T) {
	const rest = "; name=p/m1; node=lb1; weight=1/2"
	const up, going, down = "UP" + rest, "UP 1/3" + rest, "DOWN" + rest
	for _, tt := range []struct {
		name, view string
		code       int
		checks     int
		every      time.Duration
		refused    string // the view of the last check, if that one is refused
		after      time.Duration
	}{
		{"asks every 2 s", "", 200, 10, 2 * time.Second, "", goneAfter},
		{"second check", "", 200, 2, 2 * time.Second, "", goneAfter},
		{"asks every minute", "", 200, 10, slowest, "", 3 * slowest},
		{"asks every 30 s", "", 200, 10, 30 * time.Second, "", 90 * time.Second},
		{"sends its view every 5 minutes", up, 200, 10, 5 * time.Minute, "", 15 * time.Minute},
		{"first check", "", 200, 1, 0, "", unknownGoneAfter},
		{"HAProxy that is not refused", up, 200, 10, time.Second, "", goneAfter},
		{"refused HAProxy", up, 200, 10, time.Second, up, unknownGoneAfter},
		{"HAProxy that is refused for the last time", up, 200, 10, time.Second, going, downGoneAfter},
		{"HAProxy that has the master DOWN, and no downinter", down, 503, 10, time.Second, "", goneAfter},
		{"HAProxy that has the master DOWN, downinter 3m", down, 503, 10, 3 * time.Minute, "", 9 * time.Minute},
		{"not HAProxy, and refused", "", 503, 10, time.Second, "", goneAfter},
	} {
		b, last := new(Tracker), time.Now()
		for n := range tt.checks {
			if last = last.Add(tt.every); n > 1 && len(b.All().Current(last.Add(-1))) != 1 {
				t.Errorf("%s: forgotten between two checks", tt.name)
			}
			if tt.refused != "" && n == tt.checks-1 {
				record(b, lb, Check{Header: tt.refused}, 503, last)
				continue
			}
			record(b, lb, Check{Header: tt.view}, tt.code, last)
		}
		if len(b.All().Current(last.Add(tt.after))) != 1 || len(b.All().Current(last.Add(tt.after+1))) != 0 {
			t.Errorf("%s: not forgotten after %s", tt.name, tt.after)
		}
	}
}

// TestACrowdKeepsNoSteadyBalancerOut: a balancer without a view that counts stays, however many views come, and another
// finds room.
func TestACrowdKeepsNoSteadyBalancerOut(t *testing.T) {
	now, b := time.Now(), new(Tracker)
	steady, late := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	for range steadyChecks {
		now = now.Add(2 * time.Second)
		record(b, steady, Check{}, 200, now)
	}
	for n := range 64 * maxPerAddress {
		from := netip.AddrFrom4([4]byte{198, 51, 100, byte(n / maxPerAddress)})
		view := fmt.Sprintf("DOWN; name=b%d/m1; node=hostile; weight=0/100", n%maxPerAddress)
		record(b, from, Check{Header: view}, 503, now)
	}
	record(b, late, Check{Header: "UP; name=b/m1; node=lb1; weight=100/200"}, 200, now)
	for _, source := range []netip.Addr{steady, late} {
		if !b.All().Current(now).any(func(b *Balancer) bool { return b.Source == source }) {
			t.Errorf("%s has lost its place", source)
		}
	}
}

// TestAnAnswerIsShiftedByAQuarterOfTheInterval, 250 ms at most: that pulls checks apart which run in step.
func TestAnAnswerIsShiftedByAQuarterOfTheInterval(t *testing.T) {
	for interval, want := range map[float64]time.Duration{
		0: 0, 0.1: 25 * time.Millisecond, 1: 250 * time.Millisecond, 60: 250 * time.Millisecond,
	} {
		if got := (&Balancer{Interval: interval}).shift(); got != want {
			t.Errorf("every %g s: %s, want %s", interval, got, want)
		}
	}
}

// TestOneLateCheckMovesTheIntervalByAQuarter of the difference.
func TestOneLateCheckMovesTheIntervalByAQuarter(t *testing.T) {
	b, now := new(Tracker), time.Now()
	for _, gap := range []time.Duration{0, 2 * time.Second, 2 * time.Second, 6 * time.Second} {
		now = now.Add(gap)
		record(b, lb, Check{}, 200, now)
	}
	if got := b.All()[0].Interval; got != 3 {
		t.Errorf("%g s, want 3", got)
	}
}

// The time for which a balancer was away is no interval.
func TestBalancerThatWasAwayCountsAsBefore(t *testing.T) {
	for _, tt := range []struct {
		view   string
		checks int
	}{{"", 1}, {"", 10}, {"UP; name=p/m1; node=lb1; weight=1/2", 10}} {
		b, now := new(Tracker), time.Now()
		ask := func(times int) (got Balancer) {
			for range times {
				now = now.Add(2 * time.Second)
				record(b, lb, Check{Header: tt.view}, 200, now)
				got = b.All().Current(now)[0]
			}
			return got
		}
		ask(tt.checks)
		now = now.Add(10 * time.Minute)
		if got := ask(5); got.Interval != 2 || !got.Counts() {
			t.Errorf("at its fifth check, after %+v: %+v", tt, got)
		}
	}
}

func TestRestoreKeepsNewerEntries(t *testing.T) {
	now := time.Now()
	before, b, early := new(Tracker), new(Tracker), new(Tracker)
	record(before, lb, Check{}, 200, now)
	record(before, lb.Next(), Check{}, 200, now)
	left := before.All()
	record(b, lb, Check{}, 503, now)
	for range 2 * maxBalancers {
		b.Restore(left, now)
	}
	if list := b.All().Current(now); len(list) != 2 || list[0].Answer.Code != 503 || list[1].Answer.Code != 200 {
		t.Errorf("got %+v", list)
	}
	early.Restore(left, now.Add(-time.Hour)) // the clock was set back
	if n := len(early.All().Current(now.Add(-time.Hour + unknownGoneAfter + 1))); n != 0 {
		t.Errorf("%d balancers stay because the clock was set back", n)
	}
	record(early, lb, Check{}, 200, now.Add(-2*time.Hour)) // and set back once more
	if interval := early.All()[0].Interval; interval < 0 {
		t.Errorf("a balancer asks every %v s", interval)
	}
}

// A host may have two backends, one of which asks with ?drain=404, or a monitoring check that asks with ?drain=200.
func TestOtherCodesFromOneAddressAreAnotherBalancer(t *testing.T) {
	b, now := new(Tracker), time.Now()
	for range 3 {
		for _, code := range []int{503, 404} {
			record(b, lb, Check{Codes: answer.Codes{Drain: code, Maint: 503}}, code, now)
		}
		now = now.Add(2 * time.Second)
	}
	restored := new(Tracker)
	restored.Restore(b.All(), now)
	list := restored.All().Current(now)
	for i, code := range []int{503, 404} {
		if got := list[i]; got.Codes.Drain != code || got.Answer.Code != code || got.Answers != 3 || got.Interval != 2 {
			t.Errorf("%+v", got)
		}
	}
	for _, code := range []int{404, 503} {
		record(b, lb, Check{Codes: answer.Codes{Drain: code}, Header: "UP; name=p/m1; node=lb1"}, 200, now)
	}
	if list := b.All().Current(now); len(list) != 3 || list[2].Checks != 2 {
		t.Errorf("a balancer that names itself, and changes its codes: %+v", list)
	}
}

// TestServerThatLeftRecentlyIsMissing: the views are a minute apart, or as long as "+" says.
func TestServerThatLeftRecentlyIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name, views string
		missing     int
	}{
		{"none", "UP 100/300", 0},
		{"one of two others", "UP 100/300, UP 100/200", 1},
		{"one has come back", "UP 100/300, UP 100/200, UP 100/300", 0},
		{"one comes back slowly", "UP 100/300, UP 100/240", 1},
		{"one is nearly back", "UP 100/300, UP 100/200, UP 100/260", 0},
		{"one of less than half the weight", "UP 100/180, UP 100/140", 1},
		{"one left long ago", "UP 100/300, +14m, UP 100/200", 0},
		{"there never was another", "UP 100/100", 0},
		{"one left while another came back slowly", "UP 100/300, UP 100/200, UP 100/251, +13m, UP 100/200", 1},
		{"the only other, of a tenth of the weight", "UP 100/110, UP 100/100", 1},
		{"one of two others, of a tenth of the weight", "UP 100/120, UP 100/110", 0},
		{"a backup, while this one was out", "UP 100/100, NOLB 100/100, UP 100/100", 0},
		{"none: this one is a backup, and the main server comes back slowly", "UP 100/100, UP 100/7, UP 100/100", 0},
		{"none: this one is a backup, and comes back slowly", "UP 7/100; throttle=5%, UP 100/100", 0},
		{"another, since this one is back", "UP 7/107; throttle=5%, UP 100/200, UP 100/100", 1},
		{"the only other, since this one was out", "UP 100/200, NOLB 100/100, UP 100/100", 1},
		{"the other one, while this one was out for long",
			"UP 100/300, DOWN 100/200, DOWN 100/100, +14m, UP 100/200", 0},
		{"seen while this one was out", "NOLB 100/200, UP 100/200", 1},
	} {
		b, now := new(Tracker), time.Now()
		for view := range strings.SplitSeq(tt.views, ", ") {
			if d, err := time.ParseDuration(view); err == nil {
				now = now.Add(d)
				continue
			}
			now = now.Add(time.Minute)
			record(b, lb, Check{Header: strings.Replace(view, " ", "; name=p/m1; node=lb1; weight=", 1)}, 200, now)
		}
		if got, _ := b.All().Current(now)[0].Missing(now); got != tt.missing {
			t.Errorf("%s: %d are missing, want %d", tt.name, got, tt.missing)
		}
	}
}

// TestACrowdEvictsNoBalancer: clients neither evict a balancer that sends its view or is listed, nor keep one out,
// and one network has a bounded share, unless it is listed: several HAProxies may be in one of IPv6.
func TestACrowdEvictsNoBalancer(t *testing.T) {
	now, b := time.Now(), new(Tracker)
	ask := func(from string, n int, c Check) {
		if c.Header != "" {
			c.Header = fmt.Sprintf("UP; name=b%d/m1; node=%s; weight=1/1", n, c.Header)
		}
		record(b, netip.MustParseAddr(from), c, 200, now)
	}
	ask("203.0.113.1", 0, Check{Header: "lb1"})
	ask("203.0.113.2", 0, Check{Listed: true})
	for n := range 40 {
		ask("2001:db8::1", n, Check{Header: "lb2", Listed: true})
	}
	for n := range 2_000 {
		ask("198.51.100.66", n, Check{Header: "hostile"})
		ask(fmt.Sprintf("2001:db8:0:66::%x", n), n, Check{Header: "hostile"})
		ask(fmt.Sprintf("10.0.%d.%d", n%3, n%256), n, Check{})
	}
	ask("203.0.113.3", 0, Check{Header: "lb3"})
	list, count := b.All().Current(now), map[string]int{}
	for _, known := range list {
		count[Network(known.Source).Addr().String()]++
	}
	if len(list) != maxBalancers {
		t.Errorf("%d are remembered, want %d", len(list), maxBalancers)
	}
	for from, want := range map[string]int{"203.0.113.1": 1, "203.0.113.2": 1, "203.0.113.3": 1, "2001:db8::": 40,
		"198.51.100.66": maxPerAddress, "2001:db8:0:66::": maxPerNetwork} {
		if count[from] != want {
			t.Errorf("%d of %s are remembered, want %d", count[from], from, want)
		}
	}
	for n := range maxBalancers {
		ask(fmt.Sprintf("192.0.2.%d", n), n, Check{Header: "lb4"})
	}
	late := Check{Source: netip.MustParseAddr("203.0.113.4"), Header: "UP; name=b/m1; node=lb5; weight=1/2"}
	b.Answer(late, Rule{leaving: drain.LeavingInTurn, now: now}, func(spare bool) answer.Answer {
		if spare {
			t.Error("a balancer that there is no room for may lose the master")
		}
		return answer.Answer{}
	})
	if list := b.All().Current(now); len(list) != maxBalancers || nodes(list.pick("lb5")) != "" {
		t.Error("a balancer took the place of another, which had one place, too")
	}
	now = now.Add(time.Hour)
	ask("203.0.113.4", 0, Check{Header: "lb5"})
	if list := b.All().Current(now); len(list) != 1 {
		t.Errorf("%d ask once the others have gone, want 1", len(list))
	}
}

// TestABalancerThatNoLongerAsksHasAsked: HAProxy does not check a server in MAINT, and keeps its sessions. Neither
// a monitoring system nor a client on this host is a balancer.
func TestABalancerThatNoLongerAsksHasAsked(t *testing.T) {
	const up = "UP; name=p/m1; node=lb1; weight=1/2"
	for _, tt := range []struct {
		name   string
		check  Check
		source netip.Addr
		checks int
		asked  bool
	}{
		{"with its view, on this host", Check{Header: up}, netip.IPv6Loopback(), 1, true},
		{"without", Check{}, lb, 5, true},
		{"that is listed", Check{Listed: true}, lb, 1, true},
		{"a client that asked four times", Check{}, lb, 4, false},
		{"a client on this host", Check{}, netip.IPv6Loopback(), 9, false},
	} {
		tracker, last := new(Tracker), time.Now()
		for range tt.checks {
			last = last.Add(2 * time.Second)
			record(tracker, tt.source, tt.check, 200, last)
		}
		later := last.Add(2 * time.Hour)
		restored := new(Tracker)
		restored.Restore(tracker.All(), later)
		for after, silent := range map[time.Duration]bool{
			30 * time.Second: false, 2 * time.Minute: tt.asked, silentFor: tt.asked, silentFor + 1: false,
		} {
			if n := len(restored.All().Silent(last.Add(after))); (n == 1) != silent {
				t.Errorf("%s: %d balancers are silent after %s", tt.name, n, after)
			}
		}
		if got := restored.All().Asked(); got.Equal(last) != tt.asked || len(restored.All().Current(later)) != 0 {
			t.Errorf("%s: asked last at %v, want %v", tt.name, got, last)
		}
	}
}
