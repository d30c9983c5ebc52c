package status_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestRefusalsAreCountedByAddressAndForgottenAfterAnHour(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	lb1, lb2 := netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("2001:db8::5")
	var r status.Refusals
	r.Note(front.Refusal{Client: lb2, By: front.ByLimit}, now)
	for i := range 3 {
		r.Note(front.Refusal{Client: lb1, By: front.ByAllow}, now.Add(time.Duration(i)*time.Minute))
	}
	got := r.At(now.Add(61 * time.Minute))
	last := now.Add(2 * time.Minute)
	want := status.Refusal{Source: lb1, By: front.ByAllow, Balancer: true, Count: 3, Since: now, Last: last}
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
			r.Note(front.Refusal{Client: balancer, By: front.ByAllow}, now)
		}
		r.Note(front.Refusal{Client: stranger, By: front.ByAllow}, now)
		stranger = stranger.Next()
	}
	if got := r.At(now); len(got.From) != 32 || got.From[0].Source != balancer || got.From[0].Count != 500 {
		t.Errorf("%d addresses, first %+v", len(got.From), got.From[0])
	}
}

func TestWhatKeepsBalancersAwayIsAWarning(t *testing.T) {
	since := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
	source := netip.MustParseAddr("192.0.2.5")
	settings := config.Default()
	s := status.New(status.Facts{
		State:     &monitor.State{Services: []monitor.Service{{Name: drain.Master}}},
		Settings:  &settings,
		Balancers: balancer.List{{Node: "lb1", Source: source, Seen: since, Listed: true}},
		Refused:   status.Refused{Allow: 9, From: []status.Refusal{{Source: source, Balancer: true, Count: 9, Since: since}}},
	}, since.Add(time.Hour))
	for i, want := range []string{
		"192.0.2.5 was refused since 2026-11-25 12:00:00, 9×: it is not in allow",
		"balancer lb1 has not asked since 2026-11-25 12:00:00",
	} {
		if s.Warnings[i] != want {
			t.Errorf("%q, want %q", s.Warnings[i], want)
		}
	}
}

func TestClientsThatLookLikeBalancersAreSeen(t *testing.T) {
	const plain, view = "GET /puppet HTTP/1.0\r\n", "x-haproxy-server-state: UP; name=puppet/m1\r\n"
	for _, tt := range []struct {
		name  string
		asked []string
		want  string // what it asks; empty: it is not seen
		count int64
	}{
		{"a view, once", []string{plain + view}, "GET /puppet HTTP/1.0", 1},
		{"the same, twice", []string{plain, plain}, "", 0},
		{"the same, three times", []string{plain, plain, plain}, "GET /puppet HTTP/1.0", 1},
		{"a scanner", []string{"GET /a", "GET /b", "GET /a", "GET /b", "GET /a", "GET /b"}, "", 0},
		{"a view in the path", []string{"GET /" + view}, "", 0},
		{"TLS", []string{"\x16\x03\x01\x02", "\x16\x03\x01\xff", "\x16\x03\x03"}, "TLS instead of HTTP", 1},
		{"binary", []string{"\x00\x1b\x07", "\x00\x1b\x07", "\x00"}, "no HTTP", 1},
		{"long and hostile", []string{"GET /\x1b[2J" + strings.Repeat("x", 500) + "\n" + view},
			"GET /[2J" + strings.Repeat("x", 92), 1},
	} {
		var r status.Refusals
		now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
		for _, asked := range tt.asked {
			client := netip.MustParseAddr("192.0.2.5")
			r.Note(front.Refusal{Client: client, By: front.ByRequest, Code: 400, Asked: []byte(asked)}, now)
		}

		got := r.At(now)
		if got.Request != tt.count || (tt.want == "") != (len(got.Balancers()) == 0) || len(got.From) != 1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if tt.want == "" {
			continue
		}
		want := fmt.Sprintf("192.0.2.5 was refused since 2026-11-25 12:00:00, %d×: it asks %q, which is answered 400",
			len(tt.asked), tt.want)
		if got.From[0].String() != want {
			t.Errorf("%s: %s, want %s", tt.name, got.From[0], want)
		}
		if n, later := len(got.Asking(now)), len(got.Asking(now.Add(2*time.Minute))); n != 1 || later != 0 {
			t.Errorf("%s: %d go on asking, and %d after two minutes; want 1 and none", tt.name, n, later)
		}
	}
}

// A client with as many requests as it likes takes one place, and strangers do not hide a balancer that goes on asking.
func TestRefusedRequestsAreBounded(t *testing.T) {
	now, lb, stranger := time.Now(), netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("198.51.100.1")
	var r status.Refusals
	note := func(client netip.Addr, asked string) {
		r.Note(front.Refusal{Client: client, By: front.ByRequest, Code: 400, Asked: []byte(asked)}, now)
	}
	for i := range 1000 {
		if now = now.Add(time.Second); i%2 == 0 {
			note(lb, "GET /puppet\n")
		}
		note(stranger, "GET /"+fmt.Sprint(i)+"\n")
		if i > 500 {
			stranger = stranger.Next()
		}
	}
	got := r.At(now)
	list := got.Balancers()
	if len(got.From) != 32 || len(list) != 1 || list[0].Source != lb || list[0].Count != 500 || got.From[0] != list[0] {
		t.Errorf("%+v, want the balancer, and 31 strangers after it", got)
	}
}
