package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// strict refuses stray and missing arguments; names are those that the command takes. urfave/cli
// stops parsing flags at the first argument: "drain now --reason x" would drain without the reason.
func strict(action cli.ActionFunc, names ...string) cli.ActionFunc {
	return func(c *cli.Context) error {
		switch n := c.NArg(); {
		case n < len(names):
			return misused(c, fmt.Errorf("%s needs %s", c.Command.HelpName, names[n]))
		case n > len(names):
			return misused(c, fmt.Errorf("%s takes no argument %q", c.Command.HelpName, c.Args().Get(len(names))))
		}
		return action(c)
	}
}

// misused returns the error of a command that is not used as its help says.
func misused(c *cli.Context, err error) error {
	return &exitError{exitUsage, err, c.Command.HelpName + " --help shows the usage"}
}

// onUsageError adds a hint to an error in the flags of a command.
func onUsageError(c *cli.Context, err error, _ bool) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	switch {
	case !unknown:
		return misused(c, err)
	case c.Command.Name == c.App.Name:
		return &exitError{exitUsage, err, "flags come after the command"}
	case name == "host" || name == "fleet":
		// Not the flag that is spelt most like it: "drain --hold m2" would drain this host.
		return &exitError{exitUsage, err, c.Command.HelpName + " acts on this host only"}
	}
	return &exitError{exitUsage, err, "did you mean " + cli.SuggestFlag(c.Command.Flags, name, false) + "?"}
}

func unknownCommand(c *cli.Context, name string) error {
	hint := cli.SuggestCommand(c.App.VisibleCommands(), name)
	if meant := synonym(name); meant != "" {
		hint = "pmcheck " + meant
	}
	return &exitError{exitUsage, fmt.Errorf("unknown command %q", name), hint}
}

// synonym returns the command for which other tools have this word, or "". The command that is
// spelt most like it could be the opposite: drain for undrain.
func synonym(word string) string {
	switch word {
	case "undrain", "unmaint", "uncordon", "resume", "enable", "up":
		return "ready"
	case "cordon", "disable", "down", "stop":
		return "drain"
	case "maintain", "maintenance":
		return "maint"
	}
	return ""
}
