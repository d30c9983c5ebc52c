package daemon_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/drain"
)

type testDaemon struct {
	*daemon.Daemon
	t       *testing.T
	master  *checktest.Master
	config  config.Config
	store   *drain.Store
	client  client.Daemon // of its socket
	runtime string        // its runtime directory, which a restart keeps
	stop    func()        // ends the daemon and waits

	reloads chan os.Signal
	set     func(*config.Loaded) // what the daemon reads next
}

// start starts a daemon; change may alter its configuration first. The probe interval is
// a minute, so that what a test observes was not caused by a tick.
func start(t *testing.T, change func(*config.Config)) *testDaemon {
	t.Helper()
	dir := t.TempDir()
	m, err := checktest.NewMaster(filepath.Join(dir, "puppet"), "puppet1.example.test", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { m.Close() })
	f := m.Files()
	c := config.Default()
	c.Listen = "127.0.0.1:0"
	c.Socket = filepath.Join(dir, "pmcheck.sock")
	c.HoldsIn = dir
	c.Probe.Address, c.Probe.Certname = m.Address(), m.Name
	c.Probe.Certificate, c.Probe.Key, c.Probe.CA, c.Probe.CRL = f.Certificate, f.Key, f.CA, f.CRL
	c.Probe.Interval, c.Probe.Timeout, c.Probe.MaxAge = time.Minute, 5*time.Second, 3*time.Minute
	if change != nil {
		change(&c)
	}
	r := &testDaemon{t: t, master: m, config: c, store: c.Store(), runtime: t.TempDir()}
	r.client.Socket = c.Socket
	must(t, os.Mkdir(r.store.Persistent, 0o755)) // a start makes the other one
	r.run()
	return r
}

// run starts another daemon on these ports, or on one of its own, and waits for its first verdict.
func (r *testDaemon) run(ports ...net.Listener) {
	r.t.Helper()
	source, set := daemon.FixedSource()
	r.set = set
	r.reloads = make(chan os.Signal, 1)
	r.start(newDaemon(r.config, daemon.Options{
		Source:  source,
		Reloads: r.reloads,
		Runtime: r.runtime,
		Ports:   ports,
	}))
}

// start starts a daemon, and waits for its first verdict.
func (r *testDaemon) start(d *daemon.Daemon) {
	r.t.Helper()
	r.Daemon = d
	ctx, cancel := context.WithCancel(context.Background())
	must(r.t, r.Listen(ctx))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
	r.t.Cleanup(r.stop)
	r.waitUntil(func() bool { return r.Status(time.Now()).Probe.Count > 0 })
}

// newDaemon returns a daemon with a configuration that no file has.
func newDaemon(c config.Config, o daemon.Options) *daemon.Daemon {
	if o.Source == nil {
		o.Source, _ = daemon.FixedSource()
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return daemon.New(&config.Loaded{Config: c, File: "test.yaml"}, o)
}

// reload makes the daemon use another configuration.
func (r *testDaemon) reload(c config.Config) {
	r.t.Helper()
	loaded := &config.Loaded{Config: c, File: "test.yaml"}
	r.set(loaded)
	r.reloads <- syscall.SIGHUP
	r.waitUntil(func() bool { return r.Uses(loaded) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *testDaemon) dial(text string) net.Conn {
	r.t.Helper()
	return dial(r.t, r.Address(), text)
}

func dial(t *testing.T, address net.Addr, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address.String())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(c, text)
	must(t, err)
	return c
}

func (r *testDaemon) exchange(request string) (*http.Response, string) {
	r.t.Helper()
	c := r.dial(request)
	defer c.Close()
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		r.t.Fatalf("answer to %q: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(r.t, err)
	return resp, strings.TrimSuffix(string(body), "\n")
}

func (r *testDaemon) ask(request string) (code int, body string) {
	r.t.Helper()
	resp, body := r.exchange(request)
	return resp.StatusCode, body
}

func (r *testDaemon) waitFor(code int, body string) {
	r.t.Helper()
	r.waitUntil(func() bool {
		gotCode, gotBody := r.ask("GET / HTTP/1.0\r\n\r\n")
		return gotCode == code && gotBody == body
	})
}

// waitUntil asks until done, and leaves the CPU to the tests that run at the same time.
func (r *testDaemon) waitUntil(done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("the status stays %+v", r.Status(time.Now()))
		}
	}
}

func (r *testDaemon) hold(mode drain.Mode) {
	r.t.Helper()
	hold := func(drain.Hold) (drain.Hold, error) { return drain.Hold{Mode: mode}, nil }
	_, err := r.store.Change(drain.Operator, "", hold)
	must(r.t, err)
}
