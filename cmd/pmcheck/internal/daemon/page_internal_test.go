package daemon

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// quiet returns a daemon that has never probed.
func quiet(t testing.TB) *Daemon {
	c := config.Default()
	c.HoldsIn = t.TempDir()
	c.StatusAllow = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	return New(c, "", "test", slog.New(slog.DiscardHandler))
}

func TestPageNeedsStatusAllow(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	tests := []struct {
		name, from string
		trusted    bool
		page       bool
	}{
		{"loopback", "127.0.0.1:1", false, true},
		{"loopback, IPv6", "[::1]:1", false, true},
		{"allowed", "192.0.2.7:1", false, true},
		{"allowed, mapped", "[::ffff:192.0.2.7]:1", false, true},
		{"not allowed", "198.51.100.7:1", false, false},
		{"not an address", "@", false, false},
		{"the socket", "@", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.from
			r.Header.Set("Accept", "text/html")
			w := httptest.NewRecorder()
			d.handler(tt.trusted).ServeHTTP(w, r)
			body, _ := io.ReadAll(w.Body)
			if page := strings.HasPrefix(string(body), "<!doctype html>"); w.Code != 503 || page != tt.page {
				t.Errorf("%d, page %v; want 503, page %v", w.Code, page, tt.page)
			}
		})
	}
}
