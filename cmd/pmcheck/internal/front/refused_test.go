package front_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

func TestRefusalsAreCountedByAddressAndForgottenAfterAnHour(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	lb1, lb2 := netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("2001:db8::5")
	var r front.Refusals
	r.Note(front.Refusal{Client: lb2, By: front.ByLimit}, now)
	for i := range 3 {
		r.Note(front.Refusal{Client: lb1, By: front.ByAllow}, now.Add(time.Duration(i)*time.Minute))
	}
	got := r.At(now.Add(61 * time.Minute))
	last := now.Add(2 * time.Minute)
	want := front.RefusedClient{Source: lb1, By: front.ByAllow, Balancer: true, Count: 3, Since: now, Last: last}
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
	var r front.Refusals
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

// What looks like a balancer is known by its pace, whatever it sends, and a single try of a person or a scanner is not.
func TestClientsThatLookLikeBalancersAreSeen(t *testing.T) {
	const request, silence = front.ByRequest, front.BySilence
	const plain, view = "GET /puppet HTTP/1.0\r\n", "x-haproxy-server-state: UP; name=puppet/m1\r\n"
	const every = 2 * time.Second
	proxy := func(port int) string { return fmt.Sprintf("PROXY TCP4 192.0.2.5 192.0.2.1 %d 9200\r\nGET /", port) }
	for _, tt := range []struct {
		name  string
		by    front.Reason
		every time.Duration
		asked []string
		want  string // what it does; empty: it is not seen
		count int64
	}{
		{"a view, once", request, every, []string{plain + view}, `it asks "GET /puppet HTTP/1.0", which is answered 400`, 1},
		{"twice", request, every, []string{plain, plain}, "", 0},
		{"three times", request, every, []string{plain, plain, plain},
			`it asks "GET /puppet HTTP/1.0", which is answered 400`, 1},
		{"check-send-proxy", request, every, []string{proxy(4711), proxy(4712), proxy(4713)},
			`it asks "PROXY TCP4 192.0.2.5 192.0.2.1 4713 9200", which is answered 400`, 1},
		{"with a long downinter", request, 3 * time.Minute, []string{plain, plain, plain},
			`it asks "GET /puppet HTTP/1.0", which is answered 400`, 1},
		{"a person, now and then", request, 6 * time.Minute, []string{plain, plain, plain, plain}, "", 0},
		{"a scanner", request, 50 * time.Millisecond,
			[]string{"GET /a", "GET /b", "GET /a", "GET /b", "GET /a", "GET /b"}, "", 0},
		{"a view in the path", request, every, []string{"GET /" + view}, "", 0},
		{"TLS", request, every, []string{"\x16\x03\x01\x02", "\x16\x03\x01\xff", "\x16\x03\x03"},
			`it asks "TLS instead of HTTP", which is answered 400`, 1},
		{"binary", request, every, []string{"\x00\x1b\x07", "\x00\x1b\x07", "\x00"},
			`it asks "no HTTP", which is answered 400`, 1},
		{"long and hostile", request, every, []string{"GET /\x1b[2J" + strings.Repeat("x", 500) + "\n" + view},
			`it asks "GET /[2J` + strings.Repeat("x", 92) + `", which is answered 400`, 1},
		{"a check without a send", silence, every, []string{"", "", "", ""},
			"it connects and sends no request, so it hears no answer", 2},
		{"telnet, once", silence, every, []string{""}, "", 0},
		{"a browser that connects ahead", silence, 100 * time.Millisecond, []string{"", "", "", "", ""}, "", 0},
		{"half a request", silence, every, []string{"GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n"},
			`it sends "GET / HTTP/1.1", which is no whole request, so it hears no answer`, 1},
	} {
		var r front.Refusals
		since := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
		now := since
		for i, asked := range tt.asked {
			now = since.Add(time.Duration(i) * tt.every)
			client := netip.MustParseAddr("192.0.2.5")
			r.Note(front.Refusal{Client: client, By: tt.by, Code: 400, Asked: []byte(asked)}, now)
		}

		got := r.At(now)
		isSeen := len(got.Balancers()) > 0
		if n := got.Request + got.Silence; n != tt.count || isSeen != (tt.want != "") || len(got.From) != 1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if tt.want == "" {
			continue
		}
		want := fmt.Sprintf("192.0.2.5 was refused since 2026-11-25 12:00:00, %d×: %s", len(tt.asked), tt.want)
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
	var r front.Refusals
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
