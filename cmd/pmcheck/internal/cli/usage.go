package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// typedArgs is the key under which the app keeps its arguments. If a flag before the
// command is wrong, the context of the error does not have them.
const typedArgs = "args"

// strict refuses stray arguments. urfave/cli stops parsing flags at the first argument:
// "drain now --reason x" would drain without the reason.
func strict(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() == 0 {
			return action(c)
		}
		stray, hint := c.Args().First(), ""
		if _, bad := config.ParseDuration(stray); bad == nil && c.IsSet("wait") {
			hint = "write --wait=" + stray
		}
		return &exitError{exitUsage, fmt.Errorf("%s takes no argument %q", c.Command.Name, stray), hint}
	}
}

// onUsageError rewords an error in the flags of a command and adds a hint.
func onUsageError(c *cli.Context, err error, _ bool) error {
	problem, hint := flagProblem(c, err.Error())
	if hint == "" {
		hint = called(c) + " --help lists the flags"
	}
	return &exitError{exitUsage, errors.New(problem), hint}
}

// called returns the command as it was called, without arguments.
func called(c *cli.Context) string {
	if isRoot(c) {
		return "pmcheck"
	}
	return "pmcheck " + c.Command.Name
}

func isRoot(c *cli.Context) bool {
	return c.Command == nil || c.Command.Name == "" || c.Command.Name == c.App.Name
}

// flagProblem rewords an error of package flag, whose errors have no types.
func flagProblem(c *cli.Context, text string) (problem, hint string) {
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return called(c) + " has no flag " + dashed(name), unknownFlagHint(c, name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return dashed(name) + " needs a value", ""
	}
	m := regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return text, ""
	}
	return dashed(m[2]) + ": " + valueProblem(c.Command, m[1], m[2], m[3]), ""
}

// valueProblem returns what is wrong with the quoted value of a flag. said is the error
// from the flag's Set method.
func valueProblem(command *cli.Command, value, name, said string) string {
	for _, f := range command.Flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag:
			return value + " is not a whole number"
		case *cli.BoolFlag:
			return "takes no value"
		}
	}
	return said
}

// unknownFlagHint returns a hint for a flag that a command does not have.
func unknownFlagHint(c *cli.Context, name string) string {
	typed, _ := c.App.Metadata[typedArgs].([]string)
	if !isRoot(c) {
		if others := commandsWith(c, name); len(others) > 0 {
			return strayFlagHint(c.Command.Name, name, others, typed)
		}
		if best := config.Nearest(name, flagNames(c.Command)); best != "" {
			return "did you mean " + dashed(best) + "?"
		}
		return ""
	}
	at := slices.IndexFunc(typed, func(word string) bool { return c.App.Command(word) != nil })
	switch {
	case at >= 0:
		others := slices.Delete(slices.Clone(typed), at, at+1)
		return "flags come after the command: pmcheck " + typed[at] + " " + strings.Join(others, " ")
	case c.App.Command(name) != nil:
		return "pmcheck " + name
	}
	return ""
}

// strayFlagHint returns a hint for a flag that only other commands have. It must not
// suggest a similar flag: for drain --host m2, drain --hold m2 would drain this host.
func strayFlagHint(command, name string, others, typed []string) string {
	acts := slices.Contains([]string{"drain", "maint", "ready", "wait", "check"}, command)
	switch {
	case acts && name == "host":
		const flag = "--host"
		host := "HOST"
		for i, word := range typed {
			if value, joined := strings.CutPrefix(word, flag+"="); joined {
				host = value
			} else if word == flag && i+1 < len(typed) {
				host = typed[i+1]
			}
		}
		return fmt.Sprintf("%s acts on this host only; for the other: ssh %s sudo pmcheck %[1]s", command, host)
	case acts && name == "fleet":
		return command + " acts on this host only; run it on each master, one at a time"
	}
	return fmt.Sprintf("%s is a flag of pmcheck %s", dashed(name), strings.Join(others, ", "))
}

// commandsWith lists the commands that have a flag.
func commandsWith(c *cli.Context, flag string) (names []string) {
	for _, command := range c.App.VisibleCommands() {
		if slices.Contains(flagNames(command), flag) {
			names = append(names, command.Name)
		}
	}
	return names
}

// flagNames lists the flags of a command in alphabetical order.
func flagNames(c *cli.Command) []string {
	var names []string
	for _, f := range c.VisibleFlags() {
		names = append(names, f.Names()...)
	}
	slices.Sort(names)
	return names
}

// dashed returns the name of a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func unknownCommand(c *cli.Context, name string) error {
	var names []string
	for _, command := range c.App.VisibleCommands() {
		names = append(names, command.Name)
	}
	hint := "pmcheck --help lists the commands"
	if meant := otherWord(name); meant != "" {
		hint = "pmcheck " + string(meant)
	} else if best := config.Nearest(name, names); best != "" {
		hint = "did you mean pmcheck " + best + "?"
	}
	return &exitError{exitUsage, fmt.Errorf("unknown command %q", name), hint}
}

// otherWord returns the command that other tools call name. A suggestion by spelling
// could be the opposite command.
func otherWord(name string) drain.Mode {
	switch name {
	case "undrain", "unmaint", "uncordon", "resume", "enable", "up":
		return drain.Ready
	case "cordon", "disable", "down", "stop":
		return drain.Drain
	}
	return ""
}
