package cli

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
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

const demoHelp = `Type what should happen to the stand-in, and Enter:
  running   it is well                 stopped   it is killed: the port is closed
  starting  it says that it starts     silent    it accepts and never answers
  error     it says that it is ill     stuck     its JRubies are, and it says running
  denied    its auth.conf lacks the rule
  drain, maint, ready   what an operator may want of it
  quit
`

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "rehearse on a machine without Puppet: a stand-in master and the agent",
		Description: "Starts a stand-in for a Puppet Server inside this process, with a throw-away CA,\n" +
			"and the agent against it. Its state can be switched by typing. Nothing on the host is touched.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "localhost:9200", Usage: "answer balancers on `ADDRESS`"},
			&cli.StringFlag{Name: "master", Value: "127.0.0.1:0", Usage: "let the stand-in listen on `ADDRESS`, for a backend to forward to"},
		},
		Action: demo,
	}
}

func demo(c *cli.Context) (err error) {
	ctx, stop := untilHangup(c.Context)
	defer stop()
	dir, err := os.MkdirTemp("", "pmcheck-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	master, err := checktest.NewMaster(filepath.Join(dir, "puppet"), "demo.pmcheck.test", c.String("master"))
	if err != nil {
		return err
	}
	defer master.Close()
	store, err := demoStore(dir)
	if err != nil {
		return err
	}
	loaded, err := demoConfig(c.String("listen"), dir, master, store)
	if err != nil {
		return err
	}
	a := agent.New(loaded.Config, loaded.File, versionString(), slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)))
	if err := a.Listen(ctx); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "This is a demo: the master at %s is a stand-in, not a Puppet Server.\n", master.Address())
	fmt.Fprintf(c.App.Writer, "Balancers are answered on %s. Try: curl -i %s/\n", a.Address(), a.Address())
	fmt.Fprintf(c.App.Writer, "In another terminal, the commands:\n  export PMCHECK_CONFIG=%s\n  pmcheck status\n  pmcheck drain --wait\n\n%s\n", loaded.File, demoHelp)

	ctx, quit := context.WithCancel(ctx)
	defer quit()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.Serve(ctx) })
	lines := typed(ctx, c.App.Reader)
	group.Go(func() error {
		defer quit()
		return demoPrompt(ctx, lines, c.App.Writer, master, store)
	})
	return group.Wait()
}

// untilHangup returns a context that ends with the terminal, too, unless nohup
// says otherwise: a demo that dies leaves private keys behind.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

func demoStore(dir string) (*drain.Store, error) {
	store := &drain.Store{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run", "holds")}
	return store, errors.Join(os.MkdirAll(store.Persistent, 0o755), os.MkdirAll(store.UntilReboot, 0o755))
}

// demoConfig writes the configuration of the demo, for its agent and for the
// commands, and loads it: the defaults with the stand-in in Puppet's place.
func demoConfig(listen, dir string, m *checktest.Master, store *drain.Store) (*config.Loaded, error) {
	files, path := m.Files(), filepath.Join(dir, "pmcheck.yaml")
	text := fmt.Appendf(nil, `# The configuration of a demo; it goes with it.
listen: %q
socket: %q
holds: {persistent: %q, until_reboot: %q}
probe:
  address: %q
  certname: %q
  certificate: %q
  key: %q
  ca: %q
  crl: %q
disk: {paths: [%q]}
# Nobody wants to watch for two minutes until it is clear.
jruby: {interval: 1s, stuck_after: 10s}
# This host's own unit is another master.
checks: {unit: "off"}
`, listen, filepath.Join(dir, "pmcheck.sock"), store.Persistent, store.UntilReboot,
		m.Address(), m.Name, files.Certificate, files.Key, files.CA, files.CRL, dir)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	loaded, err := config.Load(config.Options{File: path})
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return loaded, nil
}

// typed delivers what is typed, a line at a time, and is closed at the end of
// the input. Reading cannot be interrupted, so its goroutine may outlive the
// demo; the process ends with it.
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

// demoPrompt obeys until quit or the end of ctx. At the end of the input, as
// in the background, it just waits.
func demoPrompt(ctx context.Context, lines <-chan string, w io.Writer, m *checktest.Master, store *drain.Store) error {
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
				say(w, demoObey(line, m, store))
			}
		}
	}
}

func say(w io.Writer, text string) {
	fmt.Fprintf(w, "%s  %s\n", time.Now().Format(time.TimeOnly), text)
}

// demoObey does what was typed and says what it did.
func demoObey(word string, m *checktest.Master, store *drain.Store) string {
	var err error
	switch word {
	case "drain", "maint":
		_, err = store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Mode(word), Reason: "demo"})
	case "ready":
		if _, err = store.Lift(drain.Operator, ""); errors.Is(err, drain.ErrNotFound) {
			err = nil
		}
	case "running", "starting", "error", "stopped", "denied", "silent", "stuck":
		err = m.Set(checktest.State(word))
	default:
		return fmt.Sprintf("%q is no word of the demo.\n%s", word, strings.TrimRight(demoHelp, "\n"))
	}
	switch {
	case err != nil:
		return err.Error()
	case word == "stuck":
		return "now stuck: busy at first, 503 after about 10 s"
	}
	return "now " + word
}
