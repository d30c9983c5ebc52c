// Package daemon joins the other packages into one process: the monitor's state becomes
// answers behind the front's listeners, and a Status for commands, metrics and the page.
package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/metrics"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Daemon is one daemon. Set the exported fields, call Listen, then Serve.
type Daemon struct {
	Log *slog.Logger
	// Runtime is a directory in which a daemon saves its balancers, and when the master last answered, for the next
	// one. If it is empty, a new daemon knows no balancer until that balancer asks.
	Runtime string
	// GateDir is the runtime directory of the gate, which may not run. Empty: there is none.
	GateDir string

	// Ports are the listeners for balancers, Sockets those for the commands. The service
	// manager may have bound them; Listen binds those that are missing.
	Ports   []net.Listener
	Sockets []net.Listener

	started   time.Time
	listen    string // the setting with which this daemon was started
	from      *Start // the configuration in use and its files; nil without Run
	settings  atomic.Pointer[config.Config]
	config    atomic.Pointer[status.ConfigStatus]
	monitor   *monitor.Monitor
	balancers balancer.Tracker
	refused   status.Refusals
	metrics   *metrics.Metrics
	page      *page.Page
	pages     look[page.Document]
	json      look[[]byte]
	budget    atomic.Pointer[status.BudgetStatus] // nil without one
}

// New returns a daemon for a configuration that was read from file.
func New(c config.Config, file string, log *slog.Logger) *Daemon {
	d := &Daemon{
		Log:     log,
		started: time.Now(),
		listen:  c.Listen,
		page:    page.New(),
	}
	d.metrics = metrics.New(d.status, log)
	d.apply(c, file)
	store := c.Store()
	if err := store.MakeUntilReboot(); err != nil {
		log.Warn("cannot make the directory for holds until reboot", "error", err)
	}
	d.monitor = monitor.New(c, store, log, monitor.Hooks{
		Published: func(s *monitor.State) { d.page.Note(s.Published, s.Result.Pool) },
		Probed:    d.metrics.Probed,
	})
	return d
}

func (d *Daemon) apply(c config.Config, file string) {
	d.settings.Store(&c)
	d.config.Store(&status.ConfigStatus{File: file, Loaded: time.Now()})
}

// Reload applies a new configuration while serving.
func (d *Daemon) Reload(c config.Config, file string) {
	d.apply(c, file)
	d.balancers.Believe(c.Balancers)
	d.monitor.Reload(c)
	d.Log.Info("configuration reloaded", "file", file)
}

// Refuse records that a newer configuration is not in use, and why. The message says what is.
func (d *Daemon) Refuse(message string, err error) {
	d.Log.Error(message, "error", err)
	status := *d.config.Load()
	status.Error = err.Error()
	d.config.Store(&status)
}

// Address returns the address on which balancers are answered. It must be called after
// Listen.
func (d *Daemon) Address() net.Addr { return d.Ports[0].Addr() }

// Serve answers until ctx ends, then lets answers in flight finish. It returns
// early, with an error, if a part of the daemon fails.
func (d *Daemon) Serve(ctx context.Context) error {
	d.recall(time.Now())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { d.monitor.Run(ctx); return nil })
	group.Go(func() error { return d.remember(ctx) })
	group.Go(func() error { return d.keepSlot(ctx) })
	ports := &front.Server{
		Log:     d.Log,
		Places:  front.Places(),
		Allowed: func(client netip.Addr) bool { return contains(d.settings.Load().Allow, client) },
		Refused: func(r front.Refusal) { d.refused.Note(r, time.Now()) },
		Wait:    d.waitForVerdict,
	}
	for _, port := range d.Ports {
		ports.ServeHTTP(ctx, group, port, d)
	}
	// The file's permissions decide which users may connect to the socket.
	sockets, commands := &front.Server{Log: d.Log, Places: ports.Places}, http.NewServeMux()
	commands.HandleFunc("GET /status", d.serveStatus)
	for _, socket := range d.Sockets {
		sockets.ServeHTTP(ctx, group, socket, commands)
	}
	return group.Wait()
}

// waitForVerdict returns once there is a verdict, or the longest probe should have ended.
// An answer before that would be 503 for a master that is healthy, or saturated, only because the daemon has
// just started.
func (d *Daemon) waitForVerdict(ctx context.Context) {
	longest := d.settings.Load().Probe.Longest()
	select {
	case <-d.monitor.Judged():
	case <-time.After(longest + longest/4): // a busy machine is late
	case <-ctx.Done():
	}
}

func believed(c *config.Config, source netip.Addr) bool {
	return source.IsValid() && (len(c.Balancers) == 0 || contains(c.Balancers, source))
}

// Summary returns the state of the master in one line, for the service manager.
func (d *Daemon) Summary() string {
	master, _ := d.monitor.State().At(drain.Master, time.Now())
	v := master.Verdict
	return fmt.Sprintf("%s, %s: %s; answering on %s", master.Mode, v.Health, v.Reason, d.Address())
}
