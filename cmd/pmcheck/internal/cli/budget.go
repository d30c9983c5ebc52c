package cli

import (
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func budgetCommand() *cli.Command {
	return &cli.Command{
		Name:        "budget",
		Usage:       "list the masters of the pool that are out, by its budget",
		Description: "Exit status: 0 done, 1 no answer, 2 usage.\nExample: pmcheck budget --schema | psql pmcheck",
		Flags: []cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "schema", Usage: "print the SQL of the database instead"},
		},
		Action: listBudget,
	}
}

func listBudget(c *cli.Context) error {
	if c.Bool("schema") {
		_, err := io.WriteString(c.App.Writer, budget.Schema())
		return err
	}

	loaded, err := config.Load(options(c))
	if err != nil {
		return err
	}
	settings := loaded.Config
	if settings.Budget.Database.IsZero() {
		return &exitError{
			status: exitUsage,
			err:    errors.New("no budget on this master"),
			hint:   "set budget.database in the configuration",
		}
	}

	v, err := budget.New(settings).Look(c.Context)
	if err != nil {
		return &exitError{status: exitFailure, err: err, hint: budget.Hint(err)}
	}
	b := &status.BudgetStatus{Pool: settings.Budget.Pool, Usage: v, Reachable: true}
	writeBudget(c.App.Writer, b, time.Now())
	return nil
}
