// Package cmdline has pmcheck's commands and flags as plain data, and the values that a
// flag may have. It guesses what a mistyped word was meant to be, and writes the completion
// scripts. It does not know the library that parses the arguments.
package cmdline

import "slices"

// Command is a command that the help shows.
type Command struct {
	Name        string
	Usage       string
	Flags       []Flag
	Subcommands []Command
}

// Flag is a flag of a command.
type Flag struct {
	Names []string // without dashes
	Usage string
	Kind  Kind
}

// Kind tells what a flag's value may be.
type Kind int

// The kinds of flags.
const (
	Text   Kind = iota // any value, or one that the flag checks itself
	Number             // a whole number
	Switch             // no value
)

// FlagNames lists the flags of a command in alphabetical order, without dashes.
func (c Command) FlagNames() (names []string) {
	for _, f := range c.Flags {
		names = append(names, f.Names...)
	}
	slices.Sort(names)
	return names
}

// find returns the command with a name, and reports whether there is one.
func find(commands []Command, name string) (Command, bool) {
	i := slices.IndexFunc(commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return commands[i], true
}

// dashed returns the name of a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
