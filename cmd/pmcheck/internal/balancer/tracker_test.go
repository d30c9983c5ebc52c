package balancer

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
)

func TestParseViewIsStrict(t *testing.T) {
	const rest = "; address=127.0.0.1; port=8140; name=a/m1; node=lb1; weight=1/2; scur=2/4; qcur=0"
	full := func(state string, step, steps int) *View {
		return &View{
			State:         state,
			Step:          step,
			Steps:         steps,
			Weight:        1,
			WeightTotal:   2,
			Sessions:      2,
			SessionsTotal: 4,
			name:          "a/m1",
			node:          "lb1",
		}
	}
	tests := []struct {
		header string
		want   *View // nil: refused
	}{
		{"UP" + rest, full("UP", 0, 0)},
		{"UP 1/3" + rest, full("UP", 1, 3)},
		{"DOWN 1/2" + rest, full("DOWN", 1, 2)},
		{"NOLB" + rest, full("NOLB", 0, 0)},
		{"NOLB 2/3" + rest, full("NOLB", 2, 3)},
		{"DRAIN" + rest, full("DRAIN", 0, 0)},
		{"MAINT" + rest, full("MAINT", 0, 0)},
		{"UP" + rest + "; throttle=50%; future=x", full("UP", 0, 0)},
		{"UP", &View{State: "UP"}},
		{"", nil},
		{"SIDEWAYS" + rest, nil},
		{"up" + rest, nil},
		{"UP 1" + rest, nil},
		{"UP; weight=-1/2", nil},
		{"UP; weight=1", nil},
		{"UP; weight=99999999999999/1", nil},
		{"UP; scur=a/b", nil},
		{"UP; qcur=1.5", nil},
		{"UP; name=a\x1b[31mb", nil},
		{"UP; name=" + strings.Repeat("a", maxName+1), nil},
		{"UP; " + strings.Repeat("x", maxView), nil},
	}
	for _, tt := range tests {
		got, ok := parseView(tt.header)
		if ok != (tt.want != nil) {
			t.Errorf("%.60q: accepted %v", tt.header, ok)
		}
		if ok && *got != *tt.want {
			t.Errorf("%.60q: got %+v, want %+v", tt.header, *got, *tt.want)
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
		{"UP; weight=1/1", true, 0},
		{"UP 2/3; weight=1/1", true, 0},
		{"UP; weight=0/1", false, 1},
		{"NOLB; weight=1/1", false, 1},     // out, so the total is of the others
		{"UP; weight=100/50", false, 50},   // drained in HAProxy itself, beside a lighter server
		{"UP; weight=100/200", false, 100}, // or beside two: cannot be told apart
		{"DRAIN; weight=100/100", false, 100},
		{"DOWN; weight=1/0", false, 0},
		{"UP", false, 0},
	} {
		v, ok := parseView(tt.header)
		if !ok || v.Last() != tt.last || v.OthersWeight() != tt.others {
			t.Errorf("%s: last %v, others %d; want %v, %d", tt.header, v.Last(), v.OthersWeight(), tt.last, tt.others)
		}
	}
}

// FuzzParseView: of any header, only short and printable names are kept, and a
// balancer that does not send to the master never has it as its last server.
func FuzzParseView(f *testing.F) {
	f.Add("UP 2/3; address=198.51.100.7; port=8140; name=puppet/m1; node=lb1; weight=1/2; scur=3/7; qcur=0")
	f.Add("NOLB; weight=1/1")
	f.Add("UP; weight=/; scur==;;;")
	f.Fuzz(func(t *testing.T, header string) {
		v, ok := parseView(header)
		if !ok {
			return
		}
		if len(v.name) > maxName || len(v.node) > maxName || !printable(v.name+v.node[:0]) {
			t.Errorf("kept %q %q", v.name, v.node)
		}
		if v.Weight < 0 || v.Sessions < 0 || v.Queue < 0 || v.Last() && !v.Sends() {
			t.Errorf("%+v", v)
		}
	})
}

// record records a check without a hold, and its answer.
func record(b *Tracker, source netip.Addr, c Check, a answer.Answer, now time.Time) {
	c.Source = source
	b.Answer(c, Rule{}, func(bool) answer.Answer { return a }, now)
}

func TestTrackerRemembersWhatABalancerWasTold(t *testing.T) {
	b := NewTracker(func() {})
	now := time.Now()
	lb := netip.MustParseAddr("198.51.100.1")
	ask := func(view string, told answer.Answer, after time.Duration) {
		q := Check{Service: "server", Codes: answer.Codes{Drain: 404, Maint: 503}, View: view}
		record(b, lb, q, told, now.Add(after))
	}
	for i := range 5 {
		ask("UP; name=p/m1; node=lb1; weight=1/2", answer.Answer{Code: 200, Body: "ok"}, time.Duration(i)*2*time.Second)
	}
	ask("UP 2/3; name=p/m1; node=lb1; weight=1/2", answer.Answer{Code: 404, Body: "drain"}, 10*time.Second)
	got := b.Current(now.Add(10 * time.Second))
	want := []Balancer{{
		Source:       lb,
		Node:         "lb1",
		Name:         "p/m1",
		Service:      "server",
		Seen:         now.Add(10 * time.Second),
		Checks:       6,
		Codes:        answer.Codes{Drain: 404, Maint: 503},
		Interval:     2,
		Answer:       answer.Answer{Code: 404, Body: "drain"},
		Answers:      1,
		View:         &View{State: "UP", Step: 2, Steps: 3, Weight: 1, WeightTotal: 2},
		OthersWeight: 1,
		OthersSeen:   now.Add(10 * time.Second),
		UnitWeight:   1,
	}}
	addrs := cmp.Comparer(func(x, y netip.Addr) bool { return x == y })
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Balancer{}, View{}), addrs); d != "" {
		t.Error(d)
	}
}

// TestABalancerIsForgottenAfterItsPause: three of its intervals, at least 10 s; longer if the interval is not known,
// as after a first check, or HAProxy has the master DOWN: it then asks every downinter, as in "inter 1s downinter
// 60s", and the header of the check before still says UP.
func TestABalancerIsForgottenAfterItsPause(t *testing.T) {
	const up, going = "UP; name=p/m1; node=lb1; weight=1/2", "UP 1/2; name=p/m1; node=lb1; weight=1/2"
	for _, tt := range []struct {
		name, view string
		code       int
		checks     int
		every      time.Duration
		after      time.Duration
	}{
		{"asks every 2 s", "", 200, 10, 2 * time.Second, goneAfter},
		{"asks every 30 s", "", 200, 10, 30 * time.Second, 90 * time.Second},
		{"first check", "", 200, 1, 0, unknownGoneAfter},
		{"first check with a view", up, 200, 1, 0, unknownGoneAfter},
		{"refused HAProxy", going, 503, 10, time.Second, unknownGoneAfter},
		{"refused HAProxy, DOWN", "DOWN; name=p/m1; node=lb1; weight=1/1", 503, 10, time.Second, unknownGoneAfter},
		{"HAProxy that is not refused", up, 200, 10, time.Second, goneAfter},
		{"not HAProxy, and refused", "", 503, 10, time.Second, goneAfter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, last := NewTracker(func() {}), time.Now()
			for n := range tt.checks {
				if last = last.Add(tt.every); n > 0 && len(b.Current(last.Add(-1))) != 1 {
					t.Errorf("forgotten between two checks")
				}
				a := answer.Answer{Code: tt.code}
				record(b, netip.MustParseAddr("198.51.100.1"), Check{Service: "server", View: tt.view}, a, last)
			}
			if len(b.Current(last.Add(tt.after))) != 1 || len(b.Current(last.Add(tt.after+1))) != 0 {
				t.Errorf("not forgotten after %s", tt.after)
			}
		})
	}
}

// The time for which a balancer was away is no interval: once it is back, a drain waits for
// as many refusals as before.
func TestBalancerThatWasAwayCountsAsBefore(t *testing.T) {
	for _, checks := range []int{1, 10} { // one may have been typed on the balancer's host
		b := NewTracker(func() {})
		now := time.Now()
		ask := func() Balancer {
			now = now.Add(2 * time.Second)
			record(b, netip.MustParseAddr("198.51.100.1"), Check{Service: "server"}, answer.Answer{}, now)
			return b.Current(now)[0]
		}
		for range checks {
			ask()
		}
		now = now.Add(10 * time.Minute)
		ask()
		for range 3 {
			ask()
		}
		if got := ask(); got.Interval != 2 || !got.Counts() || got.Refusals() != TellTimes {
			t.Errorf("at its fifth check, after %d: interval %v s, counts %v, %d refusals; want 2, true, %d",
				checks, got.Interval, got.Counts(), got.Refusals(), TellTimes)
		}
	}
}

func TestRestoreKeepsNewerEntries(t *testing.T) {
	now := time.Now()
	lb := netip.MustParseAddr("198.51.100.1")
	q := Check{Service: "server", View: "UP; name=p/m1; node=lb1; weight=1/2"}
	before := NewTracker(func() {})
	record(before, lb, q, answer.Answer{Code: 200, Body: "ok"}, now)
	record(before, netip.MustParseAddr("198.51.100.2"), q, answer.Answer{Code: 200, Body: "ok"}, now)
	left := before.Current(now)

	b := NewTracker(func() {})
	record(b, lb, q, answer.Answer{Code: 503, Body: "drain"}, now)
	b.Restore(left, now)
	list := b.Current(now)
	if len(list) != 2 || list[0].Answer.Code != 503 || list[1].Answer.Code != 200 {
		t.Errorf("got %+v", list)
	}
	for range 2 * maxBalancers {
		b.Restore(left, now)
	}
	if n := len(b.Current(now)); n != 2 {
		t.Errorf("%d balancers after restoring the same list again, want 2", n)
	}
	early := NewTracker(func() {})
	early.Restore(left, now.Add(-time.Hour)) // the clock was set back
	if n := len(early.Current(now.Add(-time.Hour + unknownGoneAfter + 1))); n != 0 {
		t.Errorf("%d balancers stay because the clock was set back", n)
	}
}

func TestMonitoringAndLocalClientsDoNotCount(t *testing.T) {
	remote, local := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("127.0.0.1")
	for _, tt := range []struct {
		name     string
		client   Balancer
		counts   bool
		refusals int64
	}{
		{"asks every 2 s", Balancer{Source: remote, Checks: 5, Interval: 2}, true, 3},
		{"asked four times", Balancer{Source: remote, Checks: 4, Interval: 2}, false, 3},
		{"asks every 10 s, and a little late", Balancer{Source: remote, Checks: 9, Interval: 10.004}, true, 3},
		{"asks every 30 s", Balancer{Source: remote, Checks: 5, Interval: 30}, true, 1},
		{"asked once", Balancer{Source: remote, Checks: 1}, false, 3},
		{"asked once and sends its view", Balancer{Source: local, Checks: 1, View: &View{}}, true, 3},
		{"asks again after more than a minute", Balancer{Source: remote, Checks: 1}, false, 3},
		{"monitors, and is listed", Balancer{Source: remote, Checks: 1, Interval: 300, Listed: true}, true, 1},
		{"is on this host", Balancer{Source: local, Checks: 9, Interval: 2}, false, 3},
		{"is on this host, over IPv6", Balancer{Source: netip.IPv6Loopback(), Checks: 9, Interval: 2}, false, 3},
		{"is on this host, and is listed", Balancer{Source: local, Checks: 9, Interval: 2, Listed: true}, true, 3},
	} {
		if got := tt.client.Counts(); got != tt.counts {
			t.Errorf("%s: counts %v, want %v", tt.name, got, tt.counts)
		}
		if got := tt.client.Refusals(); got != tt.refusals {
			t.Errorf("%s: %d refusals, want %d", tt.name, got, tt.refusals)
		}
	}
}

// A host with two backends, one of which asks with ?drain=404, or with a monitoring check
// that asks with ?drain=200, was taken for one balancer whose answers alternate.
func TestOtherCodesFromOneAddressAreAnotherBalancer(t *testing.T) {
	b := NewTracker(func() {})
	now := time.Now()
	lb := netip.MustParseAddr("198.51.100.1")
	for range 3 {
		for _, code := range []int{503, 404} {
			drained := answer.Answer{Code: code, Body: "drain"}
			record(b, lb, Check{Service: "server", Codes: answer.Codes{Drain: code, Maint: 503}}, drained, now)
		}
		now = now.Add(2 * time.Second)
	}
	restored := NewTracker(func() {})
	restored.Restore(b.Current(now), now)
	for name, tracker := range map[string]*Tracker{"recorded": b, "restored": restored} {
		list := tracker.Current(now)
		if len(list) != 2 {
			t.Fatalf("%s: %d balancers, want 2", name, len(list))
		}
		for i, code := range []int{404, 503} {
			if got := list[i]; got.Codes.Drain != code || got.Answer.Code != code || got.Answers != 3 || got.Interval != 2 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	before := b.Current(now)[0]
	for _, code := range []int{404, 503} {
		view := "UP; name=p/m1; node=lb1"
		record(b, lb, Check{Service: "server", Codes: answer.Codes{Drain: code}, View: view}, answer.Answer{Code: 200}, now)
	}
	if list := b.Current(now); len(list) != 3 || list[0] != before || list[2].Checks != 2 {
		t.Errorf("a balancer that names itself, and changes its codes: %+v", list)
	}
}

func TestServerThatLeftRecentlyIsMissing(t *testing.T) {
	type seen struct {
		after time.Duration
		view  string
	}
	for _, tt := range []struct {
		name    string
		seen    []seen
		missing bool
	}{
		{"none", []seen{{0, "UP; weight=100/300"}}, false},
		{"one of two others", []seen{{0, "UP; weight=100/300"}, {time.Minute, "UP; weight=100/200"}}, true},
		{"both others", []seen{{0, "UP; weight=100/300"}, {time.Minute, "UP; weight=100/100"}}, true},
		{"one has come back", []seen{{0, "UP; weight=100/300"}, {1, "UP; weight=100/200"}, {2, "UP; weight=100/300"}}, false},
		{"one comes back slowly", []seen{{0, "UP; weight=100/300"}, {1, "UP; weight=100/240"}}, true},
		{"one is nearly back", []seen{{0, "UP; weight=100/300"}, {1, "UP; weight=100/260"}}, false},
		{"one left long ago", []seen{{0, "UP; weight=100/300"}, {15 * time.Minute, "UP; weight=100/200"}}, false},
		{"there never was another", []seen{{0, "UP; weight=100/100"}}, false},
		{"one left while another came back slowly", []seen{{0, "UP; weight=100/300"}, {time.Minute, "UP; weight=100/200"},
			{2 * time.Minute, "UP; weight=100/251"}, {16 * time.Minute, "UP; weight=100/200"}}, true},
		{"one of two others, of half the weight", []seen{{0, "UP; weight=200/400"}, {1, "UP; weight=200/300"}}, true},
		{"the only other, of half the weight", []seen{{0, "UP; weight=200/300"}, {1, "UP; weight=200/200"}}, true},
		{"the only other, of a tenth of the weight", []seen{{0, "UP; weight=100/110"}, {1, "UP; weight=100/100"}}, true},
		{"one of two others, of a tenth of the weight", []seen{{0, "UP; weight=100/120"}, {1, "UP; weight=100/110"}}, false},
		{"a backup, while this one was out", []seen{{0, "UP; weight=100/100"}, {1, "NOLB; weight=100/100"},
			{2, "UP; weight=100/100"}}, false},
		{"the only other, since this one was out", []seen{{0, "UP; weight=100/200"}, {1, "NOLB; weight=100/100"},
			{2, "UP; weight=100/100"}}, true},
		{"the other one, while this one was out for long", []seen{{0, "UP; weight=100/300"},
			{1, "DOWN; weight=100/200"}, {time.Minute, "DOWN; weight=100/100"},
			{16 * time.Minute, "UP; weight=100/200"}}, false},
		{"seen while this one was out", []seen{{0, "NOLB; weight=100/200"}, {1, "UP; weight=100/200"}}, true},
	} {
		b := NewTracker(func() {})
		start := time.Now()
		now := start
		for _, s := range tt.seen {
			now = start.Add(s.after)
			q := Check{Service: "server", View: s.view + "; name=p/m1; node=lb1"}
			record(b, netip.MustParseAddr("198.51.100.1"), q, answer.Answer{}, now)
		}
		list := b.Current(now)
		if got, _ := list[0].Missing(now); got != tt.missing {
			t.Errorf("%s: missing %v, want %v", tt.name, got, tt.missing)
		}
	}
}

// TestACrowdEvictsNoBalancer: clients neither evict a balancer that sends its view or is listed, nor keep one out,
// and one address has a bounded share, unless it is listed: several HAProxies may be in one IPv6 network.
func TestACrowdEvictsNoBalancer(t *testing.T) {
	now, b := time.Now(), NewTracker(func() {})
	ask := func(from string, n int, c Check) {
		c.Service = "server"
		if c.View != "" {
			c.View = fmt.Sprintf("UP; name=b%d/m1; node=%s; weight=1/1", n, c.View)
		}
		record(b, netip.MustParseAddr(from), c, answer.Answer{}, now)
	}
	count := func(from string) (n int) {
		for _, known := range b.Current(now) {
			if known.Source == netip.MustParseAddr(from) {
				n++
			}
		}
		return n
	}
	ask("203.0.113.1", 0, Check{View: "lb1"})
	ask("203.0.113.2", 0, Check{Listed: true})
	for n := range 40 {
		ask("2001:db8::1", n, Check{View: "lb2", Listed: true})
	}
	for n := range 2_000 {
		ask("198.51.100.66", n, Check{View: "hostile"})
		ask(fmt.Sprintf("10.0.%d.%d", n%3, n%256), n, Check{})
	}
	ask("203.0.113.3", 0, Check{View: "lb3"})
	if len(b.Current(now)) != maxBalancers {
		t.Errorf("%d are remembered, want %d", len(b.Current(now)), maxBalancers)
	}
	for from, want := range map[string]int{"203.0.113.1": 1, "203.0.113.2": 1, "203.0.113.3": 1, "2001:db8::1": 40,
		"198.51.100.66": maxPerSource} {
		if got := count(from); got != want {
			t.Errorf("%d of %s are remembered, want %d", got, from, want)
		}
	}
}

// HAProxy does not check a server in MAINT, and keeps its sessions.
func TestABalancerThatNoLongerAsksHasAsked(t *testing.T) {
	now, lb := time.Now(), netip.MustParseAddr("198.51.100.1")
	for _, tt := range []struct {
		name   string
		q      Check
		source netip.Addr
		checks int
		asked  bool
	}{
		{"with its view", Check{Service: "server", View: "UP; name=p/m1; node=lb1; weight=1/2"}, lb, 1, true},
		{"without", Check{Service: "server"}, lb, 5, true},
		{"a client that asked four times", Check{Service: "server"}, lb, 4, false},
		{"a client on this host", Check{Service: "server"}, netip.IPv6Loopback(), 9, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker, last := NewTracker(func() {}), time.Time{}
			for i := range tt.checks {
				last = now.Add(time.Duration(i) * 2 * time.Second)
				record(tracker, tt.source, tt.q, answer.Answer{Code: 200, Body: "ok"}, last)
			}
			for after, silent := range map[time.Duration]bool{
				30 * time.Second: false, 2 * time.Minute: tt.asked, 23 * time.Hour: tt.asked, 25 * time.Hour: false,
			} {
				if n := len(tracker.Silent(last.Add(after))); (n == 1) != silent {
					t.Errorf("%d balancers are silent after %s", n, after)
				}
			}
			if !tt.asked {
				last = time.Time{}
			}
			later := now.Add(24 * time.Hour)
			for restarts := range 3 {
				if n := len(tracker.Current(later)); n != 0 {
					t.Errorf("%d balancers ask a day later", n)
				}
				if got := tracker.Asked(); !got.Equal(last) {
					t.Errorf("after %d restarts, a balancer asked last at %v, want %v", restarts, got, last)
				}
				saved := tracker.All()
				tracker = NewTracker(func() {})
				tracker.Restore(saved, later)
			}
		})
	}
}
