package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
)

// typedArgs is the key under which the app keeps its arguments. If a flag before the
// command is wrong, the context of the error does not have them.
const typedArgs = "args"

// strict refuses stray and missing arguments. urfave/cli stops parsing flags at the first
// argument: "drain now --reason x" would drain without the reason.
func strict(action cli.ActionFunc, names ...string) cli.ActionFunc {
	return func(c *cli.Context) error {
		if problem, hint := typedLine(c).Arguments(c.Args().Slice(), names, c.IsSet); problem != "" {
			return &exitError{exitUsage, errors.New(problem), hint}
		}
		return action(c)
	}
}

// onUsageError rewords an error in the flags of a command and adds a hint.
func onUsageError(c *cli.Context, err error, _ bool) error {
	problem, hint := typedLine(c).Mistake(err.Error())
	return &exitError{exitUsage, errors.New(problem), hint}
}

func unknownCommand(c *cli.Context, name string) error {
	return &exitError{exitUsage, fmt.Errorf("unknown command %q", name), typedLine(c).UnknownCommand(name)}
}

// typedLine returns the command line that was typed.
func typedLine(c *cli.Context) cmdline.Line {
	l := cmdline.Line{Commands: commandsOf(c.App)}
	l.Typed, _ = c.App.Metadata[typedArgs].([]string)
	if c.Command != nil && c.Command.Name != c.App.Name {
		l.Command, l.Called = commandOf(c.Command), c.Command.HelpName
	}
	return l
}

// commandsOf returns the commands that the help shows.
func commandsOf(app *cli.App) (list []cmdline.Command) {
	for _, c := range app.VisibleCommands() {
		if c.Name != "help" {
			list = append(list, commandOf(c))
		}
	}
	return list
}

// commandOf returns a command with its flags. urfave/cli adds --help to the command that
// runs only, so it is left out.
func commandOf(c *cli.Command) cmdline.Command {
	command := cmdline.Command{Name: c.Name, Usage: c.Usage}
	for _, f := range c.VisibleFlags() {
		if slices.Contains(f.Names(), "help") {
			continue
		}
		documented := f.(cli.DocGenerationFlag)
		flag := cmdline.Flag{Names: f.Names(), Usage: documented.GetUsage()}
		if _, number := f.(*cli.IntFlag); number {
			flag.Kind = cmdline.Number
		} else if !documented.TakesValue() {
			flag.Kind = cmdline.Switch
		}
		command.Flags = append(command.Flags, flag)
	}
	for _, sub := range c.Subcommands {
		if sub.Name != "help" {
			command.Subcommands = append(command.Subcommands, commandOf(sub))
		}
	}
	return command
}
