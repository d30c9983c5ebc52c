package balancer

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// With agent.weight, HAProxy multiplies the weight on the server line with what a master
// reports: 100% when idle, 50% when every JRuby is at work, at least 1%.
func TestABusyServerIsNotMissing(t *testing.T) {
	lb := netip.MustParseAddr("198.51.100.1")
	for _, tt := range []struct {
		name    string
		weights []string // the views of this master, every two seconds
		missing bool
	}{
		{"the other one is busy", []string{"100/200", "100/150"}, false},
		{"both are busy", []string{"100/200", "50/100"}, false},
		{"the other one becomes overloaded", []string{"100/200", "100/150", "100/110", "100/102", "100/101"}, false},
		{"both become overloaded", []string{"100/200", "50/100", "10/20", "1/2"}, false},
		{"the other one has left", []string{"100/200", "100/100"}, true},
		{"an overloaded one has left", []string{"100/200", "100/101", "100/100"}, true},
		{"the other one comes back", []string{"100/200", "100/100", "100/110"}, false},
		{"one of two others is busy", []string{"100/300", "100/250"}, false},
		{"one of two others has left", []string{"100/300", "100/200"}, false}, // or both are busy
		{"both others have left", []string{"100/300", "100/100"}, true},
		{"the balancer sends to no server", []string{"100/200", "100/0"}, true},
	} {
		b, now := NewTracker(func() {}), time.Now()
		for _, weight := range tt.weights {
			now = now.Add(2 * time.Second)
			b.RecordAgentCheck(lb, "server", Told{200, "ready up 100% # ok"}, now)
			view := "UP; name=p/m1; node=lb1; weight=" + weight
			b.Record(lb, Question{Service: "server", View: view, AgentWeight: true}, Told{200, ""}, now)
		}
		list := b.Current(now)
		if got, _ := list[1].Missing(now); got != tt.missing || !list[1].LoadWeights {
			t.Errorf("%s: missing %v, want %v; weights follow the load: %v", tt.name, got, tt.missing, list[1].LoadWeights)
		}
	}
}

// Other weights do not change by themselves, so that half of one means a server.
func TestOnlyWeightsByAgentCheckFollowTheLoad(t *testing.T) {
	lb, other := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
	for _, tt := range []struct {
		name   string
		weight bool       // agent.weight
		agent  netip.Addr // where agent-checks come from
		until  time.Duration
		want   bool
	}{
		{"agent.weight is off", false, lb, time.Minute, false},
		{"another balancer makes the agent-checks", true, other, time.Minute, false},
		{"no agent-checks any more", true, lb, 30 * time.Second, false},
		{"agent.weight and agent-checks", true, lb, time.Minute, true},
	} {
		b, start := NewTracker(func() {}), time.Now()
		var got Balancer
		for after := time.Duration(0); after < time.Minute; after += 2 * time.Second {
			now := start.Add(after)
			if after < tt.until {
				b.RecordAgentCheck(tt.agent, "server", Told{200, "ready up 100% # ok"}, now)
			}
			view := fmt.Sprintf("UP; name=p/m1; node=lb1; weight=100/%d", 300-after/time.Second)
			b.Record(lb, Question{Service: "server", View: view, AgentWeight: tt.weight}, Told{200, ""}, now)
			for _, one := range b.Current(now) {
				if one.View != nil {
					got = one
				}
			}
		}
		if missing, _ := got.Missing(got.Seen); got.LoadWeights != tt.want || missing == tt.want {
			t.Errorf("%s: weights follow the load: %v, want %v; missing: %v", tt.name, got.LoadWeights, tt.want, missing)
		}
	}
}
