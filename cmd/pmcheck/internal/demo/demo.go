// Package demo rehearses pmcheck on a machine without Puppet: a stand-in for a
// Puppet Server and a daemon against it, in one process and one directory.
package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const help = `Type what should happen to the stand-in, and Enter:
  running   it is healthy              stopped   it is killed: the port is closed
  starting  it reports starting        silent    it accepts connections, never answers
  error     it reports an error        stuck     it reports running, all JRubies are stuck
  denied    its auth.conf lacks the rule
  drain, maint, ready   the mode that an operator wants; --force as in the commands
  quit
`

// Options are the addresses and the streams of a demo.
type Options struct {
	Listen  string // the address for balancers
	Master  string // the address of the stand-in
	Version string // of pmcheck
	In      io.Reader
	Out     io.Writer
	Log     io.Writer
}

// Run runs a demo until ctx ends, its terminal is closed, or quit is typed. The
// error wraps a config.Fault if an address is not valid.
func Run(ctx context.Context, o Options) (err error) {
	ctx, stop := untilHangup(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "pmcheck-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	master, err := checktest.NewMaster(filepath.Join(dir, "puppet"), "demo.pmcheck.test", o.Master)
	if err != nil {
		return err
	}
	defer master.Close()
	loaded, err := load(o.Listen, dir, master)
	if err != nil {
		return err
	}
	d := daemon.New(loaded.Config, loaded.File, o.Version, slog.New(slog.NewTextHandler(o.Log, nil)))
	if err := d.Listen(ctx); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, `This is a demo: the master at %s is a stand-in, not a Puppet Server.
Balancers are answered on %s. Try: curl -i %[2]s/
In another terminal, the commands:
  export PMCHECK_CONFIG=%s PMCHECK_HOLDS=%s
  pmcheck status
  pmcheck drain --wait

%s
`, master.Address(), d.Address(), loaded.File, dir, help)

	ctx, quit := context.WithCancel(ctx)
	defer quit()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.Serve(ctx) })
	lines := typed(ctx, o.In)
	group.Go(func() error {
		defer quit()
		return prompt(ctx, lines, o.Out, stage{master, loaded.Config.Store(), d.Status})
	})
	return group.Wait()
}

// untilHangup returns a context that also ends when the terminal is closed, unless
// SIGHUP is ignored, as under nohup. Killed by SIGHUP, a demo would leave its private
// keys behind.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// load writes the configuration of the demo, for its daemon and for the
// commands, and loads it: the defaults with the stand-in in Puppet's place.
func load(listen, dir string, m *checktest.Master) (*config.Loaded, error) {
	files, path := m.Files(), filepath.Join(dir, "pmcheck.yaml")
	text := fmt.Appendf(nil, `# The configuration of a demo, which removes it at its end.
listen: %q
probe:
  address: %q
  certname: %q
  certificate: %q
  key: %q
  ca: %q
  crl: %q
disk: {paths: [%q]}
# A stuck pool shows after 10 s here instead of two minutes.
jruby: {stuck_after: 10s}
# If this host has a unit for Puppet Server, it is not the stand-in's.
checks: {unit: "off"}
`, listen, m.Address(),
		m.Name, files.Certificate, files.Key, files.CA, files.CRL, dir)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	loaded, err := config.Load(config.Options{File: path, Environ: []string{"PMCHECK_HOLDS=" + dir}})
	if err != nil {
		return nil, err
	}
	_, err = loaded.Config.Store().LiftAll() // makes the directories
	return loaded, err
}

// typed returns a channel that delivers the typed lines and is closed at the end of the
// input. Reading cannot be interrupted, so the goroutine may outlive the demo, until the
// process ends.
func typed(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			select {
			case lines <- strings.TrimSpace(scanner.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// prompt runs the typed commands until quit or the end of ctx. At the end of the input,
// as in the background, it only waits for ctx.
func prompt(ctx context.Context, lines <-chan string, w io.Writer, s stage) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			switch {
			case !more:
				lines = nil
			case line == "quit":
				return nil
			case line != "":
				fmt.Fprintf(w, "%s  %s\n", time.Now().Format(time.TimeOnly), s.obey(line))
			}
		}
	}
}

// stage is what the typed commands act on.
type stage struct {
	master *checktest.Master
	store  *drain.Store
	status func(now time.Time) status.Status
}

// obey runs a typed command and returns a line that describes the result.
func (s stage) obey(line string) string {
	var err error
	word, forced := strings.CutSuffix(line, " --force")
	switch {
	case word == "drain", word == "maint":
		err = s.hold(drain.Mode(word), forced)
	case forced:
		return unknown(line)
	case word == "ready":
		if _, err = s.store.Lift(drain.Operator, ""); errors.Is(err, drain.ErrNotFound) {
			err = nil
		}
	case slices.Contains([]string{"running", "starting", "error", "stopped", "denied", "silent", "stuck"}, word):
		err = s.master.Set(checktest.State(word))
	default:
		return unknown(line)
	}
	switch {
	case err != nil:
		return err.Error()
	case word == "stuck":
		return "now stuck: busy at first, 503 after about 10 s"
	}
	return "now " + line
}

// hold sets a hold. Like the commands, it refuses to drain the last server.
func (s stage) hold(mode drain.Mode, forced bool) error {
	if last := leave.LastServer(s.status(time.Now()), "", mode); len(last) > 0 && !forced {
		return fmt.Errorf("%s; insist with %s --force", last[0].Alone().Text, mode)
	}
	_, err := s.store.Put(drain.Hold{Holder: drain.Operator, Mode: mode, Reason: "demo"})
	return err
}

func unknown(line string) string {
	return fmt.Sprintf("unknown demo command %q.\n%s", line, strings.TrimRight(help, "\n"))
}
