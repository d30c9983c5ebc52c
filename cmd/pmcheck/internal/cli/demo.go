package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "rehearse on a machine without Puppet: a stand-in master and the daemon",
		Description: "Starts a stand-in for a Puppet Server inside this process, with a throw-away CA,\n" +
			"and the daemon against it. Type a state to switch it. Nothing on the host is touched.\n" +
			"Example: pmcheck demo --listen localhost:9201",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "localhost:9200", Usage: "answer balancers on `ADDRESS`"},
			&cli.StringFlag{
				Name:  "master",
				Value: "127.0.0.1:0",
				Usage: "`ADDRESS` of the stand-in, for a backend to forward to",
			},
		},
		Action: runDemo,
	}
}

func runDemo(c *cli.Context) error {
	stop := endWithTerminal(c) // killed by SIGHUP, the demo would leave its private keys behind
	defer stop()
	return demo.Run(c.Context, demo.Options{
		Listen: c.String("listen"),
		Master: c.String("master"),
		In:     c.App.Reader,
		Out:    c.App.Writer,
		Log:    c.App.ErrWriter,
	})
}
