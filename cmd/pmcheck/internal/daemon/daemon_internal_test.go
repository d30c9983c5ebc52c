package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

// quiet returns a daemon that has never probed.
func quiet(t *testing.T) *Daemon {
	c := config.Default()
	c.HoldsIn = t.TempDir()
	c.StatusAllow = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	return New(&config.Loaded{Config: c}, Options{Source: NewSource(config.Options{}, ""), Log: io.Discard})
}

func TestStatusAndPageNeedLoopbackOrStatusAllow(t *testing.T) {
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
		assertPage(t, d, tt.name, tt.from, "localhost", tt.page)
	}
}

// The page of a stranger, whose name resolves to a loopback address, must not read the status through a browser here.
func TestLoopbackIsAnsweredForNamesOfThisHostOnly(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	d.settings.Load().Probe.Certname = "puppet1.example.com"
	d.settings.Load().Checks = check.All().With(check.ExpirySettings{Names: []string{"puppet.example.com"}})
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, page := range map[string]bool{
		"":                         true, // HTTP/1.0
		"localhost":                true,
		"LocalHost.:9200":          true,
		"127.0.0.1:9200":           true,
		"127.0.0.2":                true,
		"[::1]:9200":               true,
		"[::1]":                    true,
		"::ffff:127.0.0.1":         true,
		own:                        true,
		"puppet1":                  true,
		"puppet1.example.com:9200": true,
		"puppet.example.com":       true,
		"stranger.example":         false,
		"stranger.example:9200":    false,
		"localhost.stranger.test":  false,
		"puppet1.example.com.test": false,
		"127.0.0.1.stranger.test":  false,
		"203.0.113.1":              true,
		"0.0.0.0:9200":             true,
		"[::]:9200":                true,
	} {
		assertPage(t, d, "Host "+host, "127.0.0.1:1", host, page)
	}
	assertPage(t, d, "allowed by status_allow", "192.0.2.7:1", "puppet1.example.com", true)
	assertPage(t, d, "allowed by status_allow, led here by a stranger", "192.0.2.7:1", "stranger.example", false)
	assertPage(t, d, "not allowed", "198.51.100.7:1", "puppet1.example.com", false)
	d.settings.Load().StatusAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	assertPage(t, d, "behind a proxy on this host", "127.0.0.1:1", "status.example.com", true)
}

// assertPage asserts that a browser gets the page and the status, or else the answer of a balancer and 403.
func assertPage(t *testing.T, d *Daemon, name, from, host string, page bool) {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr, r.Host = from, host
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if got := strings.HasPrefix(w.Body.String(), "<!doctype html>"); w.Code != 503 || got != page {
		t.Errorf("%s: %d, page %v; want 503, page %v", name, w.Code, got, page)
	}
	r.URL.Path, w = "/status", httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if want := map[bool]int{true: 200, false: 403}[page]; w.Code != want {
		t.Errorf("%s: %d for the status, want %d", name, w.Code, want)
	}
}

// A check is judged by one configuration, whatever a reload does meanwhile.
func TestAReloadListsNoStranger(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	open, listed := *d.settings.Load(), *d.settings.Load()
	listed.Balancers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}

	ctx, stop := context.WithCancel(t.Context())
	var reloads sync.WaitGroup
	reloads.Go(func() {
		for ctx.Err() == nil {
			d.settings.Store(&open)
			d.settings.Store(&listed)
		}
	})
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "198.51.100.7:1"
	for range 20_000 {
		d.ServeHTTP(httptest.NewRecorder(), r)
		for _, b := range d.balancers.All() {
			if b.Listed {
				t.Fatalf("%s is listed", b.Source)
			}
		}
	}
	stop()
	reloads.Wait()
}

// listenAsSystemd returns the socket that gets the daemon's notifications.
func listenAsSystemd(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return socket
}

func TestTheWatchdogIsFedOnlyWhileTheLoopTurns(t *testing.T) {
	systemd := listenAsSystemd(t)
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

func TestTheWatchdogIsFedWhileAFileSystemHangs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reload bool
	}{
		{"in a look at Puppet's configuration", false},
		{"in a reload", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			systemd := listenAsSystemd(t)
			systemd.SetReadDeadline(time.Now().Add(20 * time.Second))
			d := quiet(t)
			var readings atomic.Int64
			began, hangs := make(chan struct{}), make(chan struct{})
			hang := func() (*config.Loaded, error) {
				if readings.Add(1) == 1 {
					close(began)
				}
				<-hangs
				return nil, errors.New("cannot be read")
			}
			d.source.load = func(config.Options) (*config.Loaded, error) { return hang() }
			d.source.again = func(*config.Loaded, puppetconf.Identity) (*config.Loaded, error) { return hang() }
			d.settings.Load().Listen = "127.0.0.1:0"
			d.settings.Load().Socket = filepath.Join(t.TempDir(), "socket")

			ctx, stop := context.WithCancel(t.Context())
			if err := d.Listen(ctx); err != nil {
				t.Fatal(err)
			}
			defer d.ports[0].Close()
			defer d.sockets[0].Close()
			reloads := make(chan os.Signal, 1)
			d.reloads = reloads
			if tt.reload {
				reloads <- syscall.SIGHUP
			}
			var work sync.WaitGroup
			defer work.Wait()
			defer stop()
			defer close(hangs)
			work.Go(func() { d.monitor.Run(ctx) })
			work.Go(func() { d.follow(ctx) })

			<-began
			for pings := 0; pings < 3; { // one or two may be older
				text := make([]byte, 1000)
				n, err := systemd.Read(text)
				if err != nil {
					t.Fatalf("%d pings, then %v", pings, err)
				}
				if string(text[:n]) == "WATCHDOG=1" {
					pings++
				}
			}
			if got := readings.Load(); got != 1 {
				t.Errorf("%d readings at a time", got)
			}
		})
	}
}

// An operator who corrects puppet.conf has nothing to reload, and a mistake in pmcheck.yaml is still one.
func TestALookUsesWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		doubt    check.Reason // now
		mistakes error
		used     bool
	}{
		{"the doubt has ended", "", nil, true},
		{"another doubt", check.PuppetConfMistake, nil, true},
		{"the same doubt", check.NoPuppet, nil, false},
		{"it cannot be read", "", errors.New("mistake"), false},
	} {
		d := quiet(t)
		d.loaded.Config.Checks = check.All().With(check.IdentitySettings{Doubt: check.NoPuppet})
		d.refuse("not reloaded", errors.New("listen: x"))
		now := &config.Loaded{Config: d.loaded.Config}
		now.Config.Checks = check.All().With(check.IdentitySettings{Doubt: tt.doubt})
		d.takePuppet(reading{loaded: now, mistakes: tt.mistakes})
		if used := d.settings.Load() == &now.Config; used != tt.used || d.config.Load().Error != "listen: x" {
			t.Errorf("%s: used %v, want %v; the mistake is %q", tt.name, used, tt.used, d.config.Load().Error)
		}
	}
}
