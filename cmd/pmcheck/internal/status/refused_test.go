package status_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestRefusalsAreCountedByAddressAndForgottenAfterAnHour(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	lb1, lb2 := netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("2001:db8::5")
	var r status.Refusals
	r.Note(lb2, true, now)
	for i := range 3 {
		r.Note(lb1, false, now.Add(time.Duration(i)*time.Minute))
	}
	got := r.At(now.Add(61 * time.Minute))
	want := status.Refusal{Source: lb1, Count: 3, Since: now, Last: now.Add(2 * time.Minute)}
	if got.Allow != 3 || got.Limit != 1 || len(got.From) != 1 || got.From[0] != want {
		t.Errorf("got %+v", got)
	}
	if got := r.At(now.Add(2 * time.Hour)); got.Allow != 3 || len(got.From) != 0 {
		t.Errorf("after two hours: %+v", got)
	}
}

func TestStrangersDoNotDisplaceABalancerThatIsRefused(t *testing.T) {
	now := time.Now()
	balancer, stranger := netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("198.51.100.1")
	var r status.Refusals
	for i := range 1000 {
		if now = now.Add(time.Second); i%2 == 0 {
			r.Note(balancer, false, now)
		}
		r.Note(stranger, false, now)
		stranger = stranger.Next()
	}
	if got := r.At(now); len(got.From) != 32 || got.From[0].Source != balancer || got.From[0].Count != 500 {
		t.Errorf("%d addresses, first %+v", len(got.From), got.From[0])
	}
}

func TestWhatKeepsBalancersAwayIsAWarning(t *testing.T) {
	since := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
	source := netip.MustParseAddr("192.0.2.5")
	s := status.Status{
		Silent:  []status.Balancer{{Node: "lb1", Source: source, Seen: since}},
		Refused: status.Refused{Allow: 9, From: []status.Refusal{{Source: source, Count: 9, Since: since}}},
	}
	s.Warn()
	for i, want := range []string{
		"192.0.2.5 was refused since 2026-11-25 12:00:00, 9×: it is not in allow",
		"balancer lb1 has not asked since 2026-11-25 12:00:00",
	} {
		if s.Warnings[i] != want {
			t.Errorf("%q, want %q", s.Warnings[i], want)
		}
	}
}
