package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/outage"
)

func logCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "log",
		Usage: "list the last outages: who held what, when, why and for how long",
		Description: "From the journal, which root and the groups systemd-journal and adm may read.\n" +
			"Exit status: 0 listed, 1 the journal cannot be read, 2 usage.",
		Flags: []cli.Flag{
			configFlag(),
			serviceFlag("list outages of `SERVICE` only, and of the whole master"),
			&cli.StringFlag{
				Name:  "since",
				Usage: "list all since `TIME`: 7d (ago), 15:04, 2006-01-02, \"2006-01-02 15:04\", yesterday or RFC 3339",
			},
			&cli.IntFlag{Name: "lines", Aliases: []string{"n"}, Value: 20, Usage: "list the last `NUMBER`; 0 lists all"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return showLog(c, environ) },
	}
}

func showLog(c *cli.Context, environ []string) (err error) {
	q, now := outage.Query{Service: c.String("service"), Last: c.Int("lines")}, time.Now()
	if q.Last < 0 {
		return usageError("--lines must be at least 0, not %d", q.Last)
	}
	if c.IsSet("since") {
		if q.Since, err = cmdline.ParseSince(c.String("since"), now); err != nil {
			return usageError("--since: %w", err)
		}
		if !c.IsSet("lines") {
			q.Last = 0
		}
	}
	settings := loadAnyway(c, environ)
	entries, err := outage.Read(c.Context)
	if err != nil {
		return &exitError{exitFailure, err, outage.Hint(err)}
	}
	if why := outage.Unlogged(settings.Log); why != "" {
		fmt.Fprintln(c.App.ErrWriter, why)
	}
	list := outage.Collect(entries, settings.Store().Read(), now, q)
	if err := outage.CheckService(c.Context, api.Client{Socket: settings.Socket}, q.Service, list); err != nil {
		return noService(err)
	}
	return show(c, list, func(w io.Writer) { outage.Write(w, list) }, exitOK)
}
