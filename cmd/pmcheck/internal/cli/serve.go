package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
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
	start, err := daemon.Load(options(c))
	if err != nil {
		return err
	}
	d, err := start.Listen(c.Context, c.App.ErrWriter)
	if err != nil {
		return err
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	err = d.Run(c.Context, reload)
	d.Log.Info("stopped")
	return err
}
