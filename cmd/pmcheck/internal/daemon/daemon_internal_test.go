package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// quiet returns a daemon that has never probed.
func quiet(t *testing.T) *Daemon {
	c := config.Default()
	c.HoldsIn = t.TempDir()
	c.StatusAllow = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	return New(c, "", slog.New(slog.DiscardHandler))
}

func TestPageNeedsStatusAllow(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	for _, tt := range []struct {
		name, from string
		page       bool
	}{
		{"loopback", "[::1]:1", true},
		{"allowed", "192.0.2.7:1", true},
		{"allowed, mapped", "[::ffff:192.0.2.7]:1", true},
		{"not allowed", "198.51.100.7:1", false},
		{"not an address", "@", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.from
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if page := strings.HasPrefix(w.Body.String(), "<!doctype html>"); w.Code != 503 || page != tt.page {
			t.Errorf("%s: %d, page %v; want 503, page %v", tt.name, w.Code, page, tt.page)
		}
		r.URL.Path, w = "/status", httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if want := map[bool]int{true: 200, false: 403}[tt.page]; w.Code != want {
			t.Errorf("%s: %d for the status, want %d", tt.name, w.Code, want)
		}
	}
}

func TestTheWatchdogIsFedOnlyWhileTheLoopTurns(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	d := quiet(t)
	turned := d.monitor.State().Published
	pinged := func() bool {
		turned = d.feedWatchdog(turned)
		systemd.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // what was sent is there
		text := make([]byte, 64)
		n, err := systemd.Read(text)
		return err == nil && string(text[:n]) == "WATCHDOG=1"
	}
	if pinged() {
		t.Error("a ping before the loop runs")
	}
	ctx, stop := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { d.monitor.Run(ctx) })
	for end := time.Now().Add(10 * time.Second); !pinged(); {
		if time.Now().After(end) {
			t.Fatal("no ping while the loop runs")
		}
	}
	stop()
	loop.Wait()
	pinged() // for turns before the stop
	if pinged() {
		t.Error("a ping after the loop has stopped")
	}
}
