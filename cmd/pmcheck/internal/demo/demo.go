// Package demo rehearses pmcheck on a machine without Puppet: Run starts a stand-in for a
// Puppet Server and a daemon against it, in one process and one directory, and obeys what
// is typed.
package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/drain"
)

const help = `Type what should happen to the stand-in, and Enter:
  running   it is healthy              stopped   it is killed: the port is closed
  starting  it reports starting        silent    it accepts connections, never answers
  error     it reports an error        stuck     it reports running, all JRubies are stuck
  denied    its auth.conf lacks the rule
  drain, maint, ready   the mode that an operator wants, at once
  quit
`

// Certname is the name of the stand-in.
const Certname = "demo.pmcheck.test"

// Options are the addresses and the streams of a demo.
type Options struct {
	Listen string // the address for balancers
	Master string // the address of the stand-in
	In     io.Reader
	Out    io.Writer
	Log    io.Writer
}

// Run runs a demo until ctx ends or quit is typed. The
// error wraps a mistake.Mistake if an address is not valid.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "pmcheck-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	master, err := checktest.NewMaster(filepath.Join(dir, "puppet"), Certname, o.Master)
	if err != nil {
		return err
	}
	defer master.Close()

	from, err := configure(o.Listen, dir, master)
	if err != nil {
		return err
	}

	source := daemon.NewSource(from, "")
	loaded, err := source.Start()
	if err != nil {
		return err
	}

	holds := loaded.Config.Store()
	if _, err := holds.LiftAll(); err != nil { // makes the directories
		return err
	}

	d := daemon.New(loaded, daemon.Options{Source: source, Log: o.Log})
	if err := d.Listen(ctx); err != nil {
		return err
	}

	fmt.Fprintf(o.Out, `This is a demo: the master at %s is a stand-in, not a Puppet Server.
Balancers are answered on %s. Try: curl -i '%[2]s/?drain=404'
In another terminal, the commands:
  export PMCHECK_CONFIG=%s PMCHECK_HOLDS=%s
  %s status
  %[5]s drain --wait

%[6]s
`, master.Address(), d.Address(), loaded.File, dir, os.Args[0], help)

	ctx, quit := context.WithCancel(ctx)
	defer quit()
	// Reading cannot be interrupted, so this may outlive the demo, until the process ends.
	go func() {
		if o.obeyAll(master, holds) {
			quit()
		}
	}()
	return d.Run(ctx)
}

// obeyAll carries out what is typed, a word a line. It returns true once quit is typed, false at the end of the input.
func (o Options) obeyAll(master *checktest.Master, holds *drain.Store) (quit bool) {
	lines := bufio.NewScanner(o.In)
	for lines.Scan() {
		word := strings.TrimSpace(lines.Text())
		if word == "quit" {
			return true
		}
		if word == "" {
			continue
		}

		did := obey(word, master, holds)
		fmt.Fprintf(o.Out, "%s  %s\n", time.Now().Format(time.TimeOnly), did)
	}
	return false
}

// configure writes the configuration of the demo, for its daemon and for the commands: the defaults with the stand-in
// in Puppet's place.
func configure(listen, dir string, m *checktest.Master) (config.Options, error) {
	path := filepath.Join(dir, "pmcheck.yaml")
	files := m.Files()
	text := fmt.Appendf(nil, `# The configuration of a demo, which removes it at its end.
listen: %q
probe:
  address: %q
  interval: 1s
  timeout: 500ms
  certname: %q
  certificate: %q
  key: %q
  ca: %q
  crl: %q
disk: {paths: [%q]}
# A stuck pool shows after three seconds here instead of two minutes.
jruby: {stuck_after: 3s}
# The unit and the code of this host, if it has any, are not the stand-in's.
checks: {unit: "off", code: "off"}
`, listen, m.Address(),
		m.Name, files.Certificate, files.Key, files.CA, files.CRL, dir)
	err := os.WriteFile(path, text, 0o644)
	return config.Options{File: path, HoldsIn: dir}, err
}

// obey does what a word says, and returns what it did.
func obey(word string, master *checktest.Master, holds *drain.Store) string {
	var err error
	switch word {
	case "drain", "maint":
		_, err = holds.Change(drain.Operator, "", func(drain.Hold) (drain.Hold, error) {
			return drain.Hold{Mode: drain.Mode(word), Reason: "demo"}, nil
		})
	case "ready":
		_, err = holds.LiftAll()
	case "running", "starting", "error", "stopped", "denied", "silent", "stuck":
		err = master.Set(checktest.State(word))
	default:
		return fmt.Sprintf("unknown demo command %q.\n%s", word, strings.TrimRight(help, "\n"))
	}

	if err != nil {
		return err.Error()
	}
	return "now " + word
}
