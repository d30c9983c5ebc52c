package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/common/version"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/systemd"
)

// Start is a configuration with which a daemon, or the gate, can start.
type Start struct {
	*config.Loaded // in use

	options  config.Options
	last     systemd.RuntimeFile
	mistakes error         // in the current file, if the last good one is used instead
	level    slog.LevelVar // of the log, which follows a reload
	// load is config.Load, unless a test hangs in it.
	load func(config.Options) (*config.Loaded, error)
}

// Load reads the configuration for a daemon that starts, or for the gate. If it has mistakes, the last good one is
// used: a restart must not take a healthy master out. The error names the mistakes.
//
// The last good one is a copy that the daemon keeps in its runtime directory, beside what Puppet's configuration said
// last. Only these two read it: a command that root runs must not take settings from a file that the daemon can write.
func Load(o config.Options) (*Start, error) {
	last := systemd.RuntimeFile{Dir: systemd.RuntimeDirectory(), Name: "last-good.yaml"}
	o.Known, _ = systemd.Load[config.Identity](puppetFile()) // what cannot be read is not known
	loaded, mistakes := config.Load(o)
	s := &Start{
		Loaded:   loaded,
		options:  o,
		last:     last,
		mistakes: mistakes,
		load:     config.Load,
	}
	if mistakes == nil {
		return s, nil
	}
	o.File = last.Path()
	kept, err := config.Load(o)
	if last.Dir == "" || err != nil { // the mistake may be in an environment variable
		return nil, mistakes
	}
	kept.File = loaded.File
	s.Loaded = kept
	return s, nil
}

// Listen returns a daemon that listens, and logs to out.
func (s *Start) Listen(ctx context.Context, out io.Writer) (*Daemon, error) {
	s.level.Set(s.Config.Log.Level.Level())
	log := NewLogger(out, &s.level)
	d := New(s.Config, s.File, log)
	d.from, d.Runtime, d.GateDir = s, s.last.Dir, "/run/pmcheck-gate"
	passed, err := systemd.Listeners()
	if err != nil {
		return nil, err
	}
	d.Ports, d.Sockets = passed[systemd.HTTPSocket], passed[systemd.StatusSocket]
	if err := d.Listen(ctx); err != nil {
		return nil, err
	}
	if s.mistakes != nil {
		d.Refuse("configuration not usable, the last good one is in use; correct the file, then reload", s.mistakes)
	} else {
		d.keep(s.Loaded)
	}
	d.logDoubt(check.IdentitySettings{}, *s.Config.Checks.Identity())
	log.Info("serving",
		"version", ProgramVersion(),
		"address", d.Address().String(),
		"master", s.Config.Probe.Address,
		"certname", s.Config.Probe.Certname,
		"config", s.File)
	return d, nil
}

// puppetFile is what Puppet's configuration said last.
func puppetFile() systemd.RuntimeFile {
	return systemd.RuntimeFile{Dir: systemd.RuntimeDirectory(), Name: "puppet.json"}
}

// keep saves a configuration for a start while one of its files is broken.
func (d *Daemon) keep(loaded *config.Loaded) {
	err := d.from.last.Write(loaded.Content)
	if loaded.Doubt == nil {
		d.from.options.Known = loaded.Identity()
		err = errors.Join(err, puppetFile().Save(d.from.options.Known))
	}
	if err != nil {
		d.Log.Warn("cannot save a copy of this configuration for a restart with a broken file", "error", err)
	}
}

// reading is what the files of the configuration say at one time.
type reading struct {
	reload   bool // an operator wants it used; otherwise it is a second look
	loaded   *config.Loaded
	mistakes error
}

// read reads the configuration again, and sends what it says to done, which must have room for it. It does not wait
// for that: a file system may hang, and the watchdog must be fed.
func (d *Daemon) read(reload bool, done chan<- reading) {
	load, options := d.from.load, d.from.options
	go func() {
		loaded, mistakes := load(options)
		done <- reading{reload: reload, loaded: loaded, mistakes: mistakes}
	}()
}

// reload uses a configuration unless it has mistakes.
func (d *Daemon) reload(r reading) {
	if r.mistakes != nil {
		d.Refuse("configuration not reloaded, the old one stays in use", r.mistakes)
		return
	}
	d.use(r.loaded)
}

// use replaces the configuration in use.
func (d *Daemon) use(loaded *config.Loaded) {
	d.from.level.Set(loaded.Config.Log.Level.Level())
	d.logDoubt(*d.settings.Load().Checks.Identity(), *loaded.Config.Checks.Identity())
	d.Reload(loaded.Config, loaded.File)
	d.from.Loaded = loaded
	d.keep(loaded)
}

// inDoubt reports whether Puppet's configuration is worth a second look: the daemon is often installed before Puppet,
// and an operator who corrects puppet.conf has nothing to reload.
func (d *Daemon) inDoubt() bool { return d.settings.Load().Checks.Identity().Doubt != "" }

// lookAgain uses what a second look has found if the doubt about Puppet's configuration is another one. A pmcheck.yaml
// that was edited meanwhile waits for its reload.
func (d *Daemon) lookAgain(r reading) {
	if r.mistakes != nil || !bytes.Equal(r.loaded.Content, d.from.Content) {
		return
	}
	if *r.loaded.Config.Checks.Identity() != *d.settings.Load().Checks.Identity() {
		d.use(r.loaded)
	}
}

// logDoubt logs a doubt about Puppet's configuration that begins, changes or ends.
func (d *Daemon) logDoubt(before, now check.IdentitySettings) {
	switch {
	case now == before:
	case now.Doubt == "":
		d.Log.Info("Puppet's configuration says all that pmcheck needs")
	default:
		d.Log.Warn("Puppet's configuration does not say all that pmcheck needs", "reason", now.Doubt, "detail", now.Detail,
			"hint", check.Hint(now.Doubt))
	}
}

// NewLogger returns a logger that writes text. If w is stderr and systemd has connected that to the journal,
// the lines carry their level for it.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	if w == os.Stderr && systemd.StderrIsJournal() {
		return slog.New(systemd.NewJournalHandler(level))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Listen binds the ports and the unix socket, unless the service manager has bound them: those are served
// whatever the configuration says, because no other process answers on them.
// A failure to bind the socket is only logged: the commands find no daemon then, but
// balancers are answered.
func (d *Daemon) Listen(ctx context.Context) error {
	c := d.settings.Load()
	for _, port := range d.Ports {
		bound, ok := port.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("socket %s is not a TCP port: balancers are answered on TCP only", port.Addr())
		}
		host, number, _ := net.SplitHostPort(c.Listen)
		ip := net.ParseIP(host)
		if number != strconv.Itoa(bound.Port) || host != "" && !ip.IsUnspecified() && !ip.Equal(bound.IP) {
			d.Log.Warn("listen has no effect, since pmcheck.socket has bound the port: systemctl edit pmcheck.socket, or "+
				"disable it", "listen", c.Listen, "address", bound.String())
		}
	}
	if len(d.Ports) == 0 {
		port, err := front.ListenTCP(ctx, c.Listen)
		if err != nil {
			return err
		}
		d.Ports = []net.Listener{port}
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

// ProgramVersion returns the version that was linked in, or else that of the module, in
// the form of a package's version: 1.2.3.
func ProgramVersion() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "unknown"
}
