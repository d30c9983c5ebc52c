package daemon_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/drain"
)

// accepts is what Chromium sends with a navigation.
const accepts = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"

// TestAnotherMasterIsToldTheName, which it compares with its own, and no other client is.
func TestAnotherMasterIsToldTheName(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for agent, want := range map[string]string{fleet.UserAgent: r.config.Probe.Certname, "curl/8.5.0": ""} {
		resp, _ := r.exchange("GET / HTTP/1.0\r\nUser-Agent: " + agent + "\r\n\r\n")
		if got := resp.Header.Get(fleet.NameHeader); got != want {
			t.Errorf("%s is told %q, want %q", agent, got, want)
		}
	}
}

func TestPageIsForBrowsersAndHasSafeHeaders(t *testing.T) {
	t.Parallel()
	const view = "X-Haproxy-Server-State: UP; name=p/m1; node=lb1; weight=1/2; scur=1/2; qcur=0\r\n"
	tests := []struct {
		name, request string
		code          int
		page          bool
	}{
		{"a browser", "GET / HTTP/1.1\r\nHost: localhost\r\n" + accepts, 503, true},
		{"a browser that chose a code", "GET /?drain=404 HTTP/1.1\r\nHost: localhost\r\n" + accepts, 404, true},
		{"a browser, malformed", "GET /?drian=404 HTTP/1.1\r\nHost: localhost\r\n" + accepts, 400, false},
		{"a browser, by the service's name", "GET /server HTTP/1.1\r\nHost: localhost\r\n" + accepts, 503, false},
		{"HAProxy with its view", "GET / HTTP/1.1\r\nHost: localhost\r\n" + accepts + view, 503, false},
		{"OPTIONS, whatever it accepts", "OPTIONS / HTTP/1.1\r\nHost: localhost\r\n" + accepts, 503, false},
		{"another master", "GET /?maint=404 HTTP/1.0\r\nUser-Agent: " + fleet.UserAgent + "\r\n", 503, false},
		{"curl", "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n", 503, false},
	}
	r := start(t, nil)
	r.hold(drain.Drain)
	r.waitFor(503, "drain")
	for _, tt := range tests {
		code, body := r.ask(tt.request + "\r\n")
		if page := strings.HasPrefix(body, "<!doctype html>"); code != tt.code || page != tt.page {
			t.Errorf("%s: %d %.60q; want %d, page %v", tt.name, code, body, tt.code, tt.page)
		}
	}
	if list := r.Status(time.Now()).Balancers; len(list) != 2 {
		t.Errorf("%d balancers, want 2: neither browsers nor other masters count", len(list))
	}
	policies := map[string]bool{}
	for range 2 {
		resp, _ := r.exchange("GET / HTTP/1.1\r\nHost: localhost\r\n" + accepts + "\r\n")
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Vary": "Accept",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Set-Cookie": "",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s %q, want %q", name, got, want)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		want := regexp.MustCompile(`^default-src 'none'; style-src 'nonce-(\w{26})'; script-src 'nonce-(\w{26})'; ` +
			`connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`)
		if !want.MatchString(policy) {
			t.Errorf("policy %q", policy)
		}
		policies[policy] = true
	}
	if len(policies) != 2 {
		t.Error("the nonce was used twice")
	}
}
