package balancer

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// viewOf returns the header of a server that is UP beside another, by the name of its backend.
func viewOf(node, backend string) string {
	return fmt.Sprintf("UP; name=%s/m1; node=%s; weight=100/200", backend, node)
}

// TestNineHAProxiesOfOneNetworkAreRemembered, each with the backend of the pool and the one for turns.
func TestNineHAProxiesOfOneNetworkAreRemembered(t *testing.T) {
	tracker, now := new(Tracker), time.Now()
	for range 3 {
		now = now.Add(time.Second)
		for n := range 9 {
			source := netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1))
			for _, backend := range []string{TurnBackend, "puppet"} {
				record(tracker, source, Check{Header: viewOf(fmt.Sprintf("lb%d", n), backend)}, 200, now)
			}
		}
	}
	list := tracker.All()
	if len(list) != 18 || list.any(func(b *Balancer) bool { return b.Checks != 3 }) {
		t.Errorf("%d are remembered, want 18 that have asked three times", len(list))
	}
	if tracker.Unseen().After(now) {
		t.Error("a balancer may ask that is not remembered")
	}
}

// TestWhatIsNotRememberedKeepsTheMaster: a client that is forgotten, or finds no room, although it still asks
// may be a balancer that has the master in. So no balancer loses the master until that client would be gone.
func TestWhatIsNotRememberedKeepsTheMaster(t *testing.T) {
	const stranger = "203.0.113.9"
	asks := func(from, header string, codes int) Check {
		return Check{
			Source:  netip.MustParseAddr(from),
			Service: "server",
			Header:  header,
			Codes:   answer.Codes{Drain: codes},
		}
	}
	var names, networks, codes []Check
	for n := range maxPerNetwork {
		name := fmt.Sprintf("a%d", n)
		names = append(names, asks(stranger, viewOf(name, "puppet"), 404))
		networks = append(networks, asks(fmt.Sprintf("2001:db8::%x", n+1), viewOf(name, "puppet"), 404))
		codes = append(codes, asks(stranger, "", 404+n))
	}
	for _, tt := range []struct {
		name   string
		checks []Check
		unseen time.Duration // from the last of them
	}{
		{"a balancer that is remembered", names[:1], 0},
		{"as many names as an address may have", names[:maxPerAddress], 0},
		{"one name more", names[:maxPerAddress+1], unknownGoneAfter},
		{"as many addresses as a network may have", networks, 0},
		{"one address more", append(networks, asks("2001:db8::ffff", viewOf("a", "puppet"), 404)), unknownGoneAfter},
		{"clients that send no view, each of which may prove to be a balancer", codes[:maxPerAddress+1], unknownGoneAfter},
	} {
		tracker, now := new(Tracker), time.Now()
		lb1 := asks("198.51.100.1", viewOf("0", "puppet"), 404) // which comes first
		answers := func(at time.Time, leaving drain.Leaving) (spare bool) {
			for range 2 { // the first time, a balancer is let off
				tracker.Answer(lb1, fakeHolds{mode: drain.Drain, leaving: leaving}.rule("server", maxOutOf(t, "1"), at),
					func(s bool) answer.Answer {
						spare = s
						return answer.Answer{Code: 200}
					})
			}
			return spare
		}

		answers(now, drain.Firm)
		for _, c := range tt.checks {
			record(tracker, c.Source, c, 200, now)
		}
		if got := max(0, tracker.Unseen().Sub(now)); got != tt.unseen {
			t.Errorf("%s: a balancer may be unseen for %s, want %s", tt.name, got, tt.unseen)
		}

		if got, want := answers(now.Add(time.Second), drain.LeavingInTurn), tt.unseen == 0; got != want {
			t.Errorf("%s: a balancer may lose the master: %v, want %v", tt.name, got, want)
		}
		if later := now.Add(time.Second + tt.unseen); !answers(later, drain.LeavingInTurn) {
			t.Errorf("%s: it may not later", tt.name)
		}
	}
}

// TestABalancerThatAsksKeepsItsPlace, whatever else asks from its address or its network.
func TestABalancerThatAsksKeepsItsPlace(t *testing.T) {
	tracker, now := new(Tracker), time.Now()
	source := netip.MustParseAddr("2001:db8::1")
	for n := range 1000 {
		now = now.Add(100 * time.Millisecond)
		if n%10 == 0 {
			record(tracker, source, Check{Header: viewOf("lb1", TurnBackend)}, 200, now)
		}
		name := viewOf(fmt.Sprintf("a%d", n), "puppet")
		record(tracker, source, Check{Header: name}, 200, now)
		record(tracker, netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+2)), Check{Header: name}, 200, now)
	}
	if lb1 := tracker.All().pick("lb1"); len(lb1) != 1 || lb1[0].Checks != 100 {
		t.Errorf("%+v", lb1)
	}
}

// TestUnseenIsRestored, but not for longer than any balancer may be silent.
func TestUnseenIsRestored(t *testing.T) {
	now := time.Now()
	for left, want := range map[time.Duration]time.Duration{
		time.Minute:    time.Minute,
		24 * time.Hour: 3 * longestInterval, // the clock was set back
	} {
		tracker := new(Tracker)
		tracker.RestoreUnseen(now.Add(left), now)
		tracker.RestoreUnseen(time.Time{}, now) // takes nothing back
		if got := tracker.Unseen().Sub(now); got != want {
			t.Errorf("%s were left: %s, want %s", left, got, want)
		}
	}
}
