package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func budgetCommand() *cli.Command {
	return &cli.Command{
		Name:  "budget",
		Usage: "list the masters of the pool that are out, by its budget",
		Description: "The subcommands log in to the database as " + budget.Admin + ".\n" +
			"Example: pmcheck budget free puppet2.example.com",
		ArgsUsage: "[init [--print] | free MASTER]",
		Flags:     []cli.Flag{configFlag()},
		Action:    strict(withBudget(listBudget)),
		Subcommands: []*cli.Command{{
			Name:        "init",
			Usage:       "create or update the tables and functions",
			Description: "Example: pmcheck budget init --print | psql puppetdb",
			Flags:       []cli.Flag{subConfigFlag(), &cli.BoolFlag{Name: "print", Usage: "print the SQL instead"}},
			Action:      strict(withBudget(initBudget)),
		}, {
			Name:        "free",
			Usage:       "end the slot of a master that will not come back",
			Description: "Example: pmcheck budget free puppet2.example.com",
			ArgsUsage:   "MASTER",
			Flags:       []cli.Flag{subConfigFlag()},
			Action:      strict(withBudget(freeSlot), "MASTER"),
		}},
	}
}

// withBudget makes the action of a command that asks the database. Its error tells what an
// administrator can do.
func withBudget(run func(*cli.Context, config.Config) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Bool("print") {
			_, err := io.WriteString(c.App.Writer, budget.Schema())
			return err
		}
		loaded, err := load(c)
		if err != nil {
			return err
		}
		if loaded.Config.Budget.Database == "" {
			return &exitError{exitUsage, errors.New("no budget on this master"), "set budget.database in the configuration"}
		}
		if err = run(c, loaded.Config); err != nil {
			err = &exitError{exitFailure, err, budget.Hint(err)}
		}
		return err
	}
}

func listBudget(c *cli.Context, settings config.Config) error {
	v, err := budget.New(settings).Look(c.Context)
	if err != nil {
		return err
	}
	b := &status.BudgetStatus{Pool: settings.Budget.Pool, View: v, Reachable: true}
	show.Budget(c.App.Writer, b, time.Now())
	return nil
}

func initBudget(c *cli.Context, settings config.Config) error {
	err := budget.New(settings).Init(c.Context)
	if err == nil {
		fmt.Fprintf(c.App.Writer, "%s is ready\n", settings.Budget.Database)
	}
	return err
}

func freeSlot(c *cli.Context, settings config.Config) error {
	master := text.Printable(c.Args().First(), maxLine)
	found, err := budget.New(settings).Free(c.Context, c.Args().First())
	if err == nil && !found {
		err = fmt.Errorf("%s has no slot in pool %s", master, settings.Budget.Pool)
	}
	if err == nil {
		fmt.Fprintf(c.App.Writer, "free: the slot of %s\n", master)
	}
	return err
}
