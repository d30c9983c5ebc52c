package balancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// The balancers of TestWhichBalancersCount, by node. Each asks for the service server, and tells what its name says.
func everyKind(now time.Time) List {
	view := func(state string, weight, total int) *View {
		return &View{State: state, Weight: weight, WeightTotal: total}
	}
	list := List{
		{Node: "pair", View: view("UP", 100, 200), OthersWeight: 100, OthersSeen: now, Name: "puppet/m1"},
		{Node: "expects", View: view("UP", 100, 100), OthersWeight: 100, OthersSeen: now.Add(-time.Minute)},
		{Node: "out", View: view("NOLB", 100, 100), OthersWeight: 100, OthersSeen: now},
		{Node: "alone", View: view("UP", 100, 100)},
		{Node: "alone-listed", View: view("UP", 100, 100), Listed: true},
		{Node: "widowed", View: view("UP", 100, 100), OthersWeight: 100, OthersSeen: now.Add(-ExpectedBack)},
		{Node: "starts", View: &View{State: "UP", Step: 1, Steps: 3, Weight: 100, WeightTotal: 100}},
		{Node: "turn", View: view("UP", 100, 100), Name: "0-turn/m1"},
		{Node: "blind", Checks: steadyChecks},
		{Node: "blind-listed", Checks: 1, Listed: true},
		{Node: "person", Checks: 1},
		{Node: "newcomer", Checks: 2},
		{Node: "nearly", Checks: steadyChecks - 1},
		{Node: "here", Checks: 2, Source: netip.MustParseAddr("127.0.0.1")},
		{Node: "hides", View: view("UP", 100, 100), Codes: answer.Codes{Drain: 200}},
		{Node: "pair-listed", View: view("UP", 100, 200), OthersWeight: 100, OthersSeen: now, Listed: true},
		{Node: "ca", View: view("UP", 100, 100)},
	}
	for i := range list {
		b := &list[i]
		b.Service, b.Seen, b.UnitWeight = "server", now, 100
		if b.Source == (netip.Addr{}) {
			b.Source = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		}
	}
	list[len(list)-1].Service = "ca"
	return list
}

func nodes(list List) string {
	var names []string
	for _, b := range list {
		names = append(names, b.Node)
	}
	return strings.Join(names, " ")
}

func TestWhichBalancersCount(t *testing.T) {
	now := time.Now()
	hearing := everyKind(now).Hearing("server", drain.Drain)
	for question, tt := range map[string]struct {
		got  List
		want string
	}{
		"hears of a hold on the server": {hearing, "pair expects out alone alone-listed widowed starts turn blind " +
			"blind-listed person newcomer nearly here pair-listed"},
		"hears of a hold in maint":      {everyKind(now).Hearing("ca", drain.Maint), "ca"},
		"hears of a hold on everything": {everyKind(now)[14:].Hearing("", drain.Drain), "pair-listed ca"},
		"still sends": {hearing.Sending(now), "pair expects alone alone-listed widowed starts turn " +
			"pair-listed"},
		"follows blindly":         {hearing.Blind(), "blind blind-listed"},
		"has this master alone":   {hearing.OnlyServer(now), "alone alone-listed widowed turn"},
		"shows or expects others": {hearing.Pool(now), "pair expects out starts pair-listed"},
		"may prove to count":      {hearing.MayCount(), "newcomer nearly"},
		"is trusted":              {hearing.Trusted(), "alone-listed blind-listed pair-listed"},
		"does not have it alone": {hearing.Without(hearing.OnlyServer(now)), "pair expects out starts blind blind-listed " +
			"person newcomer nearly here pair-listed"},
	} {
		if got := nodes(tt.got); got != tt.want {
			t.Errorf("%s: %s\nwant %s", question, got, tt.want)
		}
	}
}

// pick returns the balancers of some nodes.
func (l List) pick(names string) List {
	return l.keep(func(b *Balancer) bool { return strings.Contains(" "+names+" ", " "+b.Node+" ") })
}

// TestOneVoiceAloneDecidesNothing: what a list says depends on each balancer that counts.
func TestOneVoiceAloneDecidesNothing(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		nodes    string
		allOnly  bool
		stranded bool
		decide   bool
	}{
		{"", false, false, false},
		{"alone", true, true, false},
		{"alone widowed", true, true, false},
		{"alone turn", true, true, false},
		{"turn", true, true, false}, // other backends may track it
		{"alone person", true, true, false},
		{"alone pair", false, false, false},
		{"alone expects", false, true, false},
		{"alone starts", false, true, false},
		{"alone blind", false, false, false},
		{"pair", false, false, false},       // it may be any client
		{"alone-listed", true, true, false}, // it has no pool
		{"out", false, false, false},        // its agents are elsewhere
		{"pair-listed", false, false, true},
		{"pair-listed blind-listed", false, false, false}, // which would follow at once
		{"expects", false, true, false},
		{"blind-listed", false, false, false},
	} {
		list := everyKind(now).pick(tt.nodes)
		if allOnly := list.AllOnlyServer(now); allOnly != tt.allOnly {
			t.Errorf("%q: is the only server of all: %v, want %v", tt.nodes, allOnly, tt.allOnly)
		}
		if stranded := list.AllStranded(); stranded != tt.stranded {
			t.Errorf("%q: all are stranded: %v, want %v", tt.nodes, stranded, tt.stranded)
		}
		if decide := list.Decide("server", drain.Drain, now); decide != tt.decide {
			t.Errorf("%q: views decide: %v, want %v", tt.nodes, decide, tt.decide)
		}
	}
}

// TestABackendForTurnsHasNoAgents, unless it is the only one of its HAProxy that sends a view: the servers of others
// may track its servers.
func TestABackendForTurnsHasNoAgents(t *testing.T) {
	now := time.Now()
	ofHAProxy := func(node, backend string, view *View) Balancer {
		return Balancer{Source: lb, Node: node, Name: backend + "/m1", View: view, Checks: steadyChecks, Seen: now}
	}
	alone := &View{State: "UP", Weight: 100, WeightTotal: 100}
	turn := ofHAProxy("lb1", TurnBackend, alone)
	for _, tt := range []struct {
		name   string
		others List
		agents bool
	}{
		{"the pool's backend sends its view", List{ofHAProxy("lb1", "puppet", alone)}, false},
		{"it is the only one", nil, true},
		{"the pool's backend sends no view", List{ofHAProxy("", "puppet", nil)}, true},
		{"the pool's backend of another HAProxy sends its view", List{ofHAProxy("lb2", "puppet", alone)}, true},
	} {
		list := append(List{turn}, tt.others...)
		isTurn := func(b *Balancer) bool { return b.Turns() }
		if got := list.WithAgents().any(isTurn); got != tt.agents {
			t.Errorf("%s: it has agents: %v, want %v", tt.name, got, tt.agents)
		}
		if got := len(list.Turns()) == 0; got != tt.agents {
			t.Errorf("%s: it is no backend for turns alone: %v, want %v", tt.name, got, tt.agents)
		}
	}
}

// TestACodeBelow400IsAGoodAnswer: a balancer that chose one does not hear of the hold, and one that got one was told to
// use the master.
func TestACodeBelow400IsAGoodAnswer(t *testing.T) {
	for code, good := range map[int]bool{200: true, 399: true, 400: false, 404: false, 503: false} {
		codes := answer.Codes{Drain: code, Maint: 503}
		b := Balancer{Codes: codes, Answer: answer.Answer{Code: code}, Answers: 7}
		if got := b.Hides(drain.Drain); got != good {
			t.Errorf("?drain=%d hides the hold: %v", code, got)
		}
		if b.Hides(drain.Maint) {
			t.Errorf("?drain=%d hides maint", code)
		}
		b.Codes = answer.Codes{Drain: 503, Maint: code}
		if got := b.Hides(drain.Maint); got != good {
			t.Errorf("?maint=%d hides the hold: %v", code, got)
		}
		told := map[bool]int64{b.Refused(): 7, !b.Refused(): 0}
		if b.Refused() == good || b.InARow(true) != told[true] || b.InARow(false) != told[false] {
			t.Errorf("%d: refused %v, told %d times to use it, %d not to", code, b.Refused(), b.InARow(false),
				b.InARow(true))
		}
	}
}

// TestABalancerIsNotSilentWhileItsAddressAsks: HAProxy was reloaded with another name, or asks in another way.
func TestABalancerIsNotSilentWhileItsAddressAsks(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name   string
		other  Balancer
		silent string
	}{
		{"same address and service", Balancer{Source: lb, Service: "server"}, ""},
		{"another service", Balancer{Source: lb, Service: "ca"}, "old"},
		{"another address", Balancer{Source: lb.Next(), Service: "server"}, "old"},
	} {
		old := Balancer{Node: "old", Source: lb, Service: "server", Checks: steadyChecks, Seen: now.Add(-SilentAfter)}
		tt.other.Seen = now
		if got := nodes(List{old, tt.other}.Silent(now)); got != tt.silent {
			t.Errorf("%s: %q is silent, want %q", tt.name, got, tt.silent)
		}
	}
}

func TestTheAddressesOfBalancersWithAView(t *testing.T) {
	list := everyKind(time.Now()).pick("pair out blind alone")
	list[1].Source = list[0].Source
	want := []netip.Addr{list[0].Source, list[2].Source}
	if got := list.Sources(); !slices.Equal(got, want) || list[2].View == nil {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestConnectionsOfAnAddressCountUnlessItIsTrustedAndLone(t *testing.T) {
	now := time.Now()
	list := everyKind(now)
	shared := list.pick("alone-listed ca")
	shared[1].Source, shared[1].Listed = shared[0].Source, true
	shared[1].View.WeightTotal = 200
	for i, tt := range []struct {
		list List
		want bool
	}{
		{list.pick("alone"), false}, // any client can say so
		{list.pick("alone-listed"), true},
		{list.pick("pair-listed"), false},
		{shared, false}, // the CA's backend and the pool have one HAProxy
	} {
		if got := tt.list.OnlyServerAt(tt.list[0].Source, now); got != tt.want {
			t.Errorf("case %d: %v, want %v", i, got, tt.want)
		}
	}
	if list.OnlyServerAt(netip.MustParseAddr("203.0.113.9"), now) {
		t.Error("an address that does not ask is that of a balancer with this only server")
	}
}

func TestAnIntervalIsBelievedForFiveMinutes(t *testing.T) {
	tracker, now := new(Tracker), time.Now()
	list := everyKind(now).pick("pair")
	list[0].Interval = 1e300
	tracker.Restore(list, now)
	if got := tracker.All()[0].Interval; got != longestInterval.Seconds() {
		t.Errorf("restored with an interval of %g s", got)
	}
	for range 2 { // a day apart
		now = now.Add(24 * time.Hour)
		forged := Check{Header: "UP; name=a/m1; node=forged; weight=1/2"}
		record(tracker, netip.MustParseAddr("198.51.100.9"), forged, 200, now)
	}
	if kept := tracker.All().Current(now.Add(3*longestInterval + time.Second)).pick("forged"); len(kept) > 0 {
		t.Errorf("a client that asks once a day is waited for: %+v", kept)
	}
}

func TestBelieveForgetsOtherBalancers(t *testing.T) {
	tracker, now := new(Tracker), time.Now()
	tracker.Restore(everyKind(now), now)
	tracker.Believe([]netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")})
	if list := tracker.All(); len(list) != 1 || list[0].Node != "expects" || !list[0].Listed {
		t.Errorf("%+v", list)
	}
	tracker.Believe(nil)
	if list := tracker.All(); len(list) != 1 || list[0].Listed {
		t.Errorf("without the setting: %+v", list)
	}
}
