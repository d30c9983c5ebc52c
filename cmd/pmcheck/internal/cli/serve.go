package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/systemd"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "answer balancers (the daemon)",
		Description: "Probes the local Puppet Server in the background and answers balancers on port 9200.\n" +
			"SIGHUP reloads the configuration, SIGTERM stops the daemon.\n" +
			"Example: PMCHECK_LISTEN=127.0.0.1:9200 pmcheck serve",
		Flags:  []cli.Flag{configFlag()},
		Action: serve,
	}
}

func serve(c *cli.Context) error {
	runtime := systemd.RuntimeDirectory()
	source := daemon.NewSource(options(c), runtime)
	loaded, err := source.Start()
	if err != nil {
		return err
	}
	passed, err := systemd.Listeners()
	if err != nil {
		return err
	}

	reloads := make(chan os.Signal, 1)
	d := daemon.New(loaded, daemon.Options{
		Source:  source,
		Reloads: reloads,
		Log:     c.App.ErrWriter,
		Runtime: runtime,
		GateDir: "/run/pmcheck-gate",
		Ports:   passed[systemd.HTTPSocket],
		Sockets: passed[systemd.StatusSocket],
	})
	if err := d.Listen(c.Context); err != nil {
		return err
	}

	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	return d.Run(c.Context)
}
