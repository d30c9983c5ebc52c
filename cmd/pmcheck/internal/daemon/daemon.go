// Package daemon joins the other packages into one process: the monitor's state becomes
// answers behind the front's listeners, and a Status for commands, metrics and the page.
package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/metrics"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// Options are what a daemon has beside its configuration.
type Options struct {
	// Source is where the daemon reads its configuration again. It must be the source that the configuration is from.
	Source *Source
	// Reloads delivers a signal when an operator wants the configuration read again. The nil channel never does.
	Reloads <-chan os.Signal
	// Log is what the lines of the log are written to.
	Log io.Writer
	// Runtime is a directory in which a daemon saves its balancers, and when the master last answered, for the next
	// one. If it is empty, a new daemon knows no balancer until that balancer asks.
	Runtime string
	// GateDir is the runtime directory of the gate, which may not run. Empty: there is none.
	GateDir string
	// Ports are the listeners for balancers, Sockets those for the commands, that the service manager has bound. Listen
	// binds what is missing.
	Ports   []net.Listener
	Sockets []net.Listener
}

// Daemon is one daemon. New makes it, Listen binds its ports, and Run is its life.
type Daemon struct {
	source  *Source
	reloads <-chan os.Signal
	log     *slog.Logger
	level   slog.LevelVar // of the log, which follows a reload
	runtime string
	gateDir string
	ports   []net.Listener
	sockets []net.Listener

	started   time.Time
	listen    string         // the setting with which this daemon was started
	loaded    *config.Loaded // in use; only follow changes it
	settings  atomic.Pointer[config.Config]
	ignored   atomic.Pointer[[]string] // see config.Loaded.Ignored
	config    atomic.Pointer[status.ConfigStatus]
	monitor   *monitor.Monitor
	balancers balancer.Tracker
	unlisted  balancer.Tracker          // clients with a view that the setting balancers does not list
	listens   atomic.Pointer[time.Time] // since when balancers have been heard
	refused   front.Refusals
	metrics   *metrics.Metrics
	page      *page.Page
	pages     shared[page.Document]
	json      shared[[]byte]
	budget    atomic.Pointer[budget.Status] // nil without one
}

// New returns a daemon for a configuration.
func New(loaded *config.Loaded, o Options) *Daemon {
	d := &Daemon{
		source:  o.Source,
		reloads: o.Reloads,
		runtime: o.Runtime,
		gateDir: o.GateDir,
		ports:   o.Ports,
		sockets: o.Sockets,
		started: time.Now(),
		listen:  loaded.Config.Listen,
		page:    page.New(),
	}
	d.listens.Store(&d.started)
	d.log = systemd.NewLogger(o.Log, &d.level)
	d.metrics = metrics.New(d.Status, d.log)
	d.apply(loaded)

	store := loaded.Config.Store()
	if err := store.MakeUntilReboot(); err != nil {
		d.log.Warn("cannot make the directory for holds until reboot", "error", err)
	}
	d.monitor = monitor.New(loaded.Config, store, d.log, monitor.Hooks{
		Published: func(s *monitor.State) { d.page.Note(s.Published, s.Result.Pool) },
		Probed:    d.metrics.Probed,
	})
	return d
}

// Run answers until ctx ends, and notifies the service manager. At the end it lets answers in flight finish. It returns
// early, with an error, if a part of the daemon fails. It must be called after Listen.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.log.Info("stopped")
	d.recall(time.Now())

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		d.monitor.Run(ctx)
		return nil
	})
	group.Go(func() error { return d.remember(ctx) })
	group.Go(func() error { return d.keepSlot(ctx) })
	d.serve(ctx, group)
	group.Go(func() error {
		d.waitForVerdict(ctx)
		if ctx.Err() == nil {
			d.notify(systemd.Ready(d.Summary()))
		}
		d.follow(ctx)
		d.notify(systemd.Stopping())
		return nil
	})
	return group.Wait()
}

// serve starts to answer balancers and commands.
func (d *Daemon) serve(ctx context.Context, group *errgroup.Group) {
	ports := &front.Server{
		Log:     d.log,
		Places:  front.Places(),
		Allowed: func(client netip.Addr) bool { return contains(d.settings.Load().Allow, client) },
		Refused: func(r front.Refusal) { d.refused.Note(r, time.Now()) },
		Wait:    d.waitForVerdict,
	}
	for _, port := range d.ports {
		ports.ServeHTTP(ctx, group, port, d)
	}

	// The file's permissions decide which users may connect to the socket.
	sockets := &front.Server{Log: d.log, Places: ports.Places}
	commands := http.NewServeMux()
	commands.HandleFunc("GET /status", d.serveStatus)
	for _, socket := range d.sockets {
		sockets.ServeHTTP(ctx, group, socket, commands)
	}
}

// waitForVerdict returns once there is a verdict, or the longest probe should have ended.
// An answer before that would be 503 for a master that is healthy, or saturated, only because the daemon has
// just started.
func (d *Daemon) waitForVerdict(ctx context.Context) {
	longest := d.settings.Load().Probe.Longest()
	patience := longest + longest/4 // a busy machine is late

	select {
	case <-d.monitor.Judged():
	case <-time.After(patience):
	case <-ctx.Done():
	}
}

// believed reports whether a client at an address counts as a balancer.
func believed(c *config.Config, source netip.Addr) bool {
	believesAll := len(c.Balancers) == 0
	return source.IsValid() && (believesAll || contains(c.Balancers, source))
}

// Summary returns the state of the master in one line, for the service manager.
func (d *Daemon) Summary() string {
	master, _ := d.monitor.State().At(drain.Master, time.Now())
	v := master.Verdict
	return fmt.Sprintf("%s, %s: %s; answering on %s", master.Mode, v.Health, v.Reason, d.Address())
}
