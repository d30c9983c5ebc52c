package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
	"github.com/pmcheck/pmcheck/drain"
)

func completionCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "bash|zsh|fish",
		Description: "The packages install the scripts. Without a package: source <(pmcheck completion bash).\n" +
			"The scripts call pmcheck completion with holders, services, explained or goals to list names.",
		Flags:  []cli.Flag{configFlag()},
		Action: strict(func(c *cli.Context) error { return completion(c, environ) }, "[SHELL]"),
	}
}

func completion(c *cli.Context, environ []string) error {
	what := c.Args().First()
	if slices.Contains(cmdline.Shells(), what) {
		return cmdline.WriteCompletion(c.App.Writer, what, commandsOf(c.App))
	}
	names, err := completionNames(c, environ, what)
	for _, name := range names {
		fmt.Fprintln(c.App.Writer, name)
	}
	return err
}

// completionNames lists names of one kind: the holders of the holds in effect, the
// services of the daemon (none if it does not answer), or those that cmdline knows.
func completionNames(c *cli.Context, environ []string, what string) (names []string, err error) {
	if names, known := cmdline.Names(what); known {
		return names, nil
	}
	switch what {
	case "holders":
		settings := loadAnyway(c, environ)
		names = append(names, drain.Operator)
		for _, h := range settings.Store().Read().Holds() {
			if drain.CheckName(h.Holder) == nil { // a file's name may contain what bash would execute
				names = append(names, h.Holder)
			}
		}
	case "services":
		settings := loadAnyway(c, environ)
		status, _ := api.Client{Socket: settings.Socket}.Ask(c.Context) // empty if the daemon does not answer
		for _, s := range status.Services {
			names = append(names, s.Name)
		}
	default:
		return nil, usageError("completion takes bash, zsh or fish")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
