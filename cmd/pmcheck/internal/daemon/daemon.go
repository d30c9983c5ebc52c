// Package daemon joins the rooms into one process: the monitor's state becomes
// answers behind the front's listeners, and a Status for commands, metrics and
// the page.
//
// A request reads the state of the moment and nothing else: no request can cause
// a probe, or wait for one.
package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/metrics"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/drain"
)

// Daemon is one daemon. Set the exported fields, call Listen, then Serve.
type Daemon struct {
	Version string
	Log     *slog.Logger

	// Ports are where balancers ask, AgentPorts where HAProxy's agent-checks ask,
	// Sockets where the commands ask. The service manager may have bound them;
	// Listen binds those that are missing.
	Ports      []net.Listener
	AgentPorts []net.Listener
	Sockets    []net.Listener

	started   time.Time
	settings  atomic.Pointer[config.Config]
	config    atomic.Pointer[api.ConfigStatus]
	store     *drain.Store
	monitor   *monitor.Monitor
	balancers *balancer.Tracker
	metrics   *metrics.Metrics
	history   *page.History
	page      *page.Page
	changes   changes
	weigher   answer.Weigher // belongs to the monitor's loop
	weight    atomic.Int64
	self      front.Self
	tls       *tls.Config
}

// New returns a daemon for a configuration that was read from file.
func New(c config.Config, file, version string, log *slog.Logger) *Daemon {
	d := &Daemon{
		Version: version,
		Log:     log,
		started: time.Now(),
		store:   c.Store(),
		history: page.NewHistory(time.Now()),
		page:    page.New(),
	}
	d.balancers = balancer.NewTracker(d.changes.note)
	d.metrics = metrics.New(d.status)
	d.apply(c, file)
	if err := d.store.MakeUntilReboot(); err != nil {
		log.Warn("there is no directory for holds until reboot", "error", err)
	}
	d.monitor = monitor.New(c, d.store, log, monitor.Hooks{Published: d.published, Probed: d.metrics.Probed})
	return d
}

// published takes in what the monitor has just published.
func (d *Daemon) published(s *monitor.State) {
	d.history.Note(moment(s))
	weight := answer.FullWeight
	if d.settings.Load().Agent.Weight {
		weight = d.weigher.Weigh(s, s.Turned)
	} else {
		d.weigher = answer.Weigher{}
	}
	d.weight.Store(int64(weight))
	d.changes.note()
}

// moment is what the history keeps of a state.
func moment(s *monitor.State) page.Moment {
	m := page.Moment{
		Time:   s.Turned,
		Asked:  s.Result.Asked,
		Took:   s.Result.Took,
		Failed: s.Result.Fault != nil,
	}
	for _, f := range s.Findings {
		if f.Pool != nil {
			m.Pool = f.Pool
		}
	}
	if server, known := s.Service(monitor.Server); known && s.Judged() {
		mode, _ := s.Mode(monitor.Server, s.Turned)
		m.Code, m.Held = answer.For(s, server, answer.Codes{}, s.Turned).Code, mode != drain.Ready
	}
	return m
}

func (d *Daemon) apply(c config.Config, file string) {
	d.settings.Store(&c)
	d.config.Store(&api.ConfigStatus{
		File:   file,
		Loaded: time.Now(),
		Holds:  api.HoldsConfig{Persistent: d.store.Persistent, UntilReboot: d.store.UntilReboot, InitialMode: d.store.Initial},
	})
}

// Reload takes over a new configuration while serving. Where the daemon listens
// and where the holds are stay as they were until a restart.
func (d *Daemon) Reload(c config.Config, file string) {
	old := d.settings.Load()
	if c.Listen != old.Listen || c.Agent.Listen != old.Agent.Listen || c.Socket != old.Socket || c.Holds != old.Holds ||
		c.TLS != old.TLS || c.TLSCertificate != old.TLSCertificate || c.TLSKey != old.TLSKey ||
		c.TLSClientCA != old.TLSClientCA || c.MaxConnections != old.MaxConnections || c.InitialMode != old.InitialMode {
		d.Log.Warn("listen, agent.listen, max_connections, tls, socket, holds and initial_mode take effect with a restart")
	}
	d.apply(c, file)
	d.monitor.Reload(c)
	d.Log.Info("configuration reloaded", "file", file)
}

// ReloadFailed notes that a newer configuration is not in use, and why.
func (d *Daemon) ReloadFailed(err error) {
	d.Log.Error("configuration not reloaded, the old one stays in use", "error", err)
	d.noteConfigError(err)
}

// Judged is closed once there is a first verdict on the master.
func (d *Daemon) Judged() <-chan struct{} { return d.monitor.Judged() }

// Address is where balancers ask; call it after Listen.
func (d *Daemon) Address() net.Addr { return d.Ports[0].Addr() }

// Live asks the daemon over its own port, as a balancer does, whether the
// monitor's loop turns. One call at a time.
func (d *Daemon) Live(ctx context.Context) error {
	return d.self.Ask(ctx, d.Address().(*net.TCPAddr).AddrPort(), "/live")
}

// Listen binds the ports and the unix socket, unless the service manager has.
// Without the socket the commands see no daemon, but balancers are still
// answered, so that is only logged.
func (d *Daemon) Listen(ctx context.Context) error {
	c := d.settings.Load()
	if err := d.prepareTLS(c); err != nil {
		return err
	}
	if len(d.Ports) == 0 {
		port, err := front.ListenTCP(ctx, c.Listen, front.DeferAccept)
		if err != nil {
			return err
		}
		d.Ports = []net.Listener{port}
	}
	if len(d.AgentPorts) == 0 && c.Agent.Listen != "" {
		port, err := front.ListenTCP(ctx, c.Agent.Listen, 0) // HAProxy waits for the daemon to speak first
		if err != nil {
			return err
		}
		d.AgentPorts = []net.Listener{port}
	}
	if len(d.Sockets) > 0 {
		return nil
	}
	socket, err := front.ListenSocket(c.Socket)
	if err != nil {
		d.Log.Warn("no unix socket, so pmcheck status and wait will not work", "error", err)
		return nil
	}
	d.Sockets = []net.Listener{socket}
	return nil
}

func (d *Daemon) prepareTLS(c *config.Config) (err error) {
	switch c.TLS {
	case config.TLSPuppet:
		if c.Probe.Certificate == "" || c.Probe.Key == "" {
			return errors.New("tls: puppet: there is no Puppet on this host yet, so no certificate to listen with " +
				"(tls: files has its own)")
		}
		d.tls, err = front.ServerTLS(c.Probe.Certificate, c.Probe.Key, "")
	case config.TLSFiles:
		d.tls, err = front.ServerTLS(c.TLSCertificate, c.TLSKey, c.TLSClientCA)
	}
	return err
}

// Serve answers until ctx ends, then lets answers in flight finish. It returns
// early, with an error, if a part of the daemon fails.
func (d *Daemon) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.monitor.Run(ctx) })
	ports := &front.Server{
		Log:     d.Log,
		Places:  front.Places(d.settings.Load().MaxConnections, len(d.Ports)+len(d.AgentPorts)+len(d.Sockets)),
		Allowed: d.allowed,
		Wait:    d.waitForVerdict,
		TLS:     d.tls,
		Plain:   d.self.Is,
	}
	for _, port := range d.Ports {
		ports.ServeHTTP(ctx, group, port, d.handler(false))
	}
	for _, port := range d.AgentPorts {
		ports.ServeLines(ctx, group, port, d.agentCheck)
	}
	// The file's permissions decide which users may connect to the socket.
	sockets := &front.Server{Log: d.Log, Places: ports.Places}
	for _, socket := range d.Sockets {
		sockets.ServeHTTP(ctx, group, socket, d.handler(true))
	}
	return group.Wait()
}

// allowed reports whether a client may ask at all.
func (d *Daemon) allowed(client netip.AddrPort) bool {
	return contains(d.settings.Load().Allow, client.Addr().Unmap()) || d.self.Is(client)
}

// waitForVerdict returns once there is a verdict to tell, or a probe has had its
// time. An answer before that would be 503 for a healthy master, only because
// the daemon has just started.
func (d *Daemon) waitForVerdict(ctx context.Context) {
	select {
	case <-d.Judged():
	case <-time.After(d.settings.Load().Probe.Timeout):
	case <-ctx.Done():
	}
}

// agentCheck answers an agent-check and remembers which balancer asked.
func (d *Daemon) agentCheck(source netip.Addr) string {
	now := time.Now()
	a := answer.AgentCheck(d.monitor.State(), int(d.weight.Load()), now)
	if d.believed(source) {
		d.balancers.RecordAgentCheck(source, monitor.Server, balancer.Told(a), now)
	}
	return a.Body
}

// believed reports whether a client counts as a balancer.
func (d *Daemon) believed(source netip.Addr) bool {
	from := d.settings.Load().Balancers
	return source.IsValid() && (len(from) == 0 || contains(from, source))
}

// Summary is the state of the master in one line, for the service manager.
func (d *Daemon) Summary() string {
	s := d.monitor.State()
	server, _ := s.Service(monitor.Server)
	now := time.Now()
	mode, _ := s.Mode(monitor.Server, now)
	v := server.Verdict.At(now)
	return fmt.Sprintf("%s, %s: %s; answering on %s", mode, v.Health, v.Reason, d.Address())
}
