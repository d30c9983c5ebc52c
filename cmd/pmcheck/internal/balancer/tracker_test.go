package balancer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseView(t *testing.T) {
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
		header       string
		last, others bool
	}{
		{"UP; weight=1/2", false, true},
		{"UP; weight=1/1", true, false},
		{"UP 2/3; weight=1/1", true, false},
		{"UP; weight=0/1", false, true},
		{"NOLB; weight=1/1", false, true}, // out, so the total is of others
		{"DOWN; weight=1/0", false, false},
		{"UP", false, false},
	} {
		v, ok := parseView(tt.header)
		if !ok || v.Last() != tt.last || v.Others() != tt.others {
			t.Errorf("%s: last %v, others %v; want %v, %v", tt.header, v.Last(), v.Others(), tt.last, tt.others)
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

func TestTrackerRecordsChecks(t *testing.T) {
	b := NewTracker(func() {})
	start := time.Now()
	lb := netip.MustParseAddr("198.51.100.1")
	ok, out := Told{200, "Puppet Server is running."}, Told{503, "drain"}
	for i := range 5 {
		at := start.Add(time.Duration(i) * 2 * time.Second)
		b.Record(lb, Question{Service: "server", View: "UP; name=p/m1; node=lb1; weight=1/2"}, ok, at)
	}
	now := start.Add(10 * time.Second)
	b.Record(lb, Question{Service: "server", View: "UP 2/3; name=p/m1; node=lb1; weight=1/2"}, out, now)
	want := []Balancer{{
		Source:   lb,
		Node:     "lb1",
		Name:     "p/m1",
		Service:  "server",
		Seen:     now,
		Checks:   6,
		Interval: 2,
		Answer:   out,
		Answers:  1,
		View:     &View{State: "UP", Step: 2, Steps: 3, Weight: 1, WeightTotal: 2},
		Others:   now,
	}}
	sameAddr := cmp.Comparer(func(x, y netip.Addr) bool { return x == y })
	if diff := cmp.Diff(want, b.Current(now), cmpopts.IgnoreUnexported(View{}), sameAddr); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if left := b.Current(now.Add(goneAfter + 1)); len(left) != 0 {
		t.Errorf("%d balancers left after the only one went", len(left))
	}
}

func TestSlowBalancerIsNotGone(t *testing.T) {
	b := NewTracker(func() {})
	now := time.Now()
	for i := range 3 {
		at := now.Add(time.Duration(i) * 30 * time.Second)
		b.Record(netip.MustParseAddr("198.51.100.1"), Question{Service: "server"}, Told{}, at)
	}
	if n := len(b.Current(now.Add(60*time.Second + 80*time.Second))); n != 1 {
		t.Errorf("%d balancers, want 1: one that asks every 30 s is kept for 90 s", n)
	}
}

func TestTrackerIsBounded(t *testing.T) {
	b := NewTracker(func() {})
	now := time.Now()
	record := func(source netip.Addr, view string) {
		b.Record(source, Question{Service: "server", View: view}, Told{200, "Puppet Server is running."}, now)
	}
	record(netip.MustParseAddr("198.51.100.1"), "UP; name=p/m1; node=lb1; weight=1/1")
	hostile := netip.MustParseAddr("198.51.100.66")
	headers := 1_000_000
	if testing.Short() {
		headers = 50_000
	}
	for i := range headers {
		record(hostile, fmt.Sprintf("UP; name=p/%d; node=%[1]d; weight=1/1", i))
	}
	list := b.Current(now)
	if len(list) != 1+maxPerSource {
		t.Errorf("%d balancers are remembered, want %d", len(list), 1+maxPerSource)
	}
	for i := range 10_000 {
		record(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), "")
	}
	list = b.Current(now)
	if len(list) != maxBalancers || !list[len(list)-1].Source.IsValid() {
		t.Errorf("%d balancers are remembered, want %d", len(list), maxBalancers)
	}
	if !slices.ContainsFunc(list, func(b Balancer) bool { return b.Node == "lb1" }) {
		t.Error("the honest balancer was evicted")
	}
}
