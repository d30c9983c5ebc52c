package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// Bounds on what a client may take of us. A check is one packet each way.
const (
	exchangeTime = 10 * time.Second // for a request and its answer
	idleTime     = 75 * time.Second // from an answer to the next request
	maxHeader    = 8 << 10
	// Who comes meanwhile waits for the next daemon, and a balancer does not for
	// long: those who dawdle are not waited for longer than for a start.
	shutdownTime = 500 * time.Millisecond
)

// Agent is one daemon. Set the exported fields, call Listen, then Serve.
type Agent struct {
	Version string
	Log     *slog.Logger

	// Ports are where balancers ask, Sockets where the commands do. A service
	// manager may have bound them; those that are missing, Listen binds.
	// AgentPorts are where HAProxy's agent-checks ask.
	Ports      []net.Listener
	AgentPorts []net.Listener
	Sockets    []net.Listener

	started      time.Time
	settings     atomic.Pointer[config.Config]
	access       atomic.Pointer[access]
	state        atomic.Pointer[state]
	configStatus atomic.Pointer[ConfigStatus]
	answers      [600][clientKinds]atomic.Int64 // by status code
	probeSeconds *prometheus.HistogramVec
	history      *history
	page         *Page

	loop      *loop
	store     *drain.Store
	holds     *drain.Watcher
	balancers *balancers
	own       atomic.Pointer[netip.AddrPort] // the client end of our own question
	first     chan struct{}
	once      sync.Once
	tlsServe  *tls.Config
}

// New returns an agent for a configuration that was read from file.
func New(c config.Config, file, version string, log *slog.Logger) *Agent {
	a := &Agent{Version: version, Log: log, started: time.Now(), first: make(chan struct{}), balancers: newBalancers(), probeSeconds: newProbeSeconds(), history: newHistory(time.Now()), page: NewPage()}
	a.apply(c, file)
	a.store = &drain.Store{
		Persistent:  c.Holds.Persistent,
		UntilReboot: c.Holds.UntilReboot,
		Initial:     c.InitialMode,
	}
	if err := a.store.MakeUntilReboot(); err != nil {
		log.Warn("there is no directory for holds until reboot", "error", err)
	}
	a.holds = a.store.Watch()
	a.loop = newLoop(c, a)
	return a
}

func (a *Agent) measure(service string, took time.Duration) {
	a.probeSeconds.WithLabelValues(service).Observe(took.Seconds())
}

func (a *Agent) publish(s *state) {
	a.state.Store(s)
	a.history.note(s)
	server, _ := s.find(Server)
	if s.probes > 0 && server.verdict.Reason != check.JRubyUnread {
		a.once.Do(func() { close(a.first) })
	}
}

func (a *Agent) apply(c config.Config, file string) {
	a.settings.Store(&c)
	a.access.Store(&access{allow: c.Allow, status: c.StatusAllow, balancers: c.Balancers})
	a.configStatus.Store(&ConfigStatus{File: file, Loaded: time.Now()})
}

// Reload takes over a new configuration while serving. Where the agent
// listens and where the holds lie stay as they were until a restart.
func (a *Agent) Reload(c config.Config, file string) {
	old := a.settings.Load()
	if c.Listen != old.Listen || c.Agent.Listen != old.Agent.Listen || c.Socket != old.Socket || c.Holds != old.Holds || c.TLS != old.TLS ||
		c.TLSCertificate != old.TLSCertificate || c.TLSKey != old.TLSKey || c.TLSClientCA != old.TLSClientCA ||
		c.MaxConnections != old.MaxConnections || c.InitialMode != old.InitialMode {
		a.Log.Warn("listen, agent.listen, max_connections, tls, socket, holds and initial_mode take effect with a restart")
	}
	a.apply(c, file)
	a.loop.reloads <- c
	a.Log.Info("configuration reloaded", "file", file)
}

// ReloadFailed notes that a newer configuration is not in use, and why.
func (a *Agent) ReloadFailed(err error) {
	status := *a.configStatus.Load()
	status.Error = err.Error()
	a.Log.Error("configuration not reloaded, the old one stays in use", "error", err)
	a.configStatus.Store(&status)
}

// Judged is closed once there is a first verdict on the master.
func (a *Agent) Judged() <-chan struct{} { return a.first }

// Address is where balancers ask; call it after Listen.
func (a *Agent) Address() net.Addr { return a.Ports[0].Addr() }

// Summary is the state of the master in one line, for the service manager.
func (a *Agent) Summary() string {
	s := a.state.Load()
	server, _ := s.find(Server)
	now := time.Now()
	mode, _ := s.mode(Server, now)
	v := server.verdict.At(now)
	return fmt.Sprintf("%s, %s: %s; answering on %s", mode, v.Health, v.Reason, a.Address())
}

// Listen binds the port and the unix socket, unless there are some already.
// Without the socket the commands are blind, but balancers are still answered,
// so that is only logged.
func (a *Agent) Listen(ctx context.Context) error {
	c := a.settings.Load()
	if err := a.prepareTLS(c); err != nil {
		return err
	}
	if len(a.Ports) == 0 {
		port, err := listenTCP(ctx, c.Listen, deferAccept)
		if err != nil {
			return err
		}
		a.Ports = []net.Listener{port}
	}
	if len(a.AgentPorts) == 0 && c.Agent.Listen != "" {
		port, err := listenTCP(ctx, c.Agent.Listen, 0) // HAProxy waits for us to speak first
		if err != nil {
			return err
		}
		a.AgentPorts = []net.Listener{port}
	}
	if len(a.Sockets) > 0 {
		return nil
	}
	socket, err := listenSocket(c.Socket)
	if err != nil {
		a.Log.Warn("no unix socket, so pmcheck status and wait will not work", "error", err)
		return nil
	}
	a.Sockets = []net.Listener{socket}
	return nil
}

func (a *Agent) prepareTLS(c *config.Config) (err error) {
	switch c.TLS {
	case config.TLSPuppet:
		if c.Probe.Certificate == "" || c.Probe.Key == "" {
			return errors.New("tls: puppet: there is no Puppet on this host yet, so no certificate to listen with (tls: files has its own)")
		}
		a.tlsServe, err = serverTLS(c.Probe.Certificate, c.Probe.Key, "")
	case config.TLSFiles:
		a.tlsServe, err = serverTLS(c.TLSCertificate, c.TLSKey, c.TLSClientCA)
	}
	return err
}

// Serve answers until ctx ends, then lets answers under way finish. It
// returns early, with an error, if anything it consists of fails.
func (a *Agent) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.holds.Run(ctx) })
	group.Go(func() error { return a.loop.run(ctx) })
	metrics := metricsHandler(a)
	for _, port := range a.Ports {
		a.answer(ctx, group, a.guardPort(ctx, port), a.handler(metrics, false))
	}
	for _, port := range a.AgentPorts {
		a.tell(ctx, group, a.guardPort(ctx, port))
	}
	for _, socket := range a.Sockets {
		everybody := func(netip.AddrPort) bool { return true } // whom the file's permissions let in
		a.answer(ctx, group, newGuard(socket, a.places(), everybody), a.handler(metrics, true))
	}
	return group.Wait()
}

func (a *Agent) handler(metrics http.Handler, trusted bool) *handler {
	return &handler{
		state: &a.state, access: &a.access, balancers: a.balancers, status: a.Status, metrics: metrics, trusted: trusted, log: a.Log,
		page: a.page, history: a.history,
		count: func(code int, client clientKind) { a.answers[code][client].Add(1) },
	}
}

// debugWriter takes what net/http says of single clients. Resets and broken
// handshakes are daily life on a health-check port.
type debugWriter struct{ log *slog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug("client", "error", string(line))
	return len(line), nil
}
