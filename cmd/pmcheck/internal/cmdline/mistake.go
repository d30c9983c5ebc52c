package cmdline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// Line is a command line that was typed.
type Line struct {
	Commands []Command // all commands
	Command  Command   // the one that was called; its name is empty until that is known
	Called   string    // the full name of a subcommand, such as "pmcheck budget free"; else empty
	Typed    []string  // the arguments
}

// called returns the command as it was called, without arguments.
func (l Line) called() string { return cmp.Or(l.Called, strings.TrimSpace("pmcheck "+l.Command.Name)) }

// LastServer returns a hint for a command that is refused because a balancer would have no
// server left. catalogs means that this is not so for catalogs alone.
func (l Line) LastServer(catalogs bool) string {
	if catalogs {
		return "for catalogs only: " + l.with("--service", "server") + "; for all services: --force"
	}
	return "bring another master up first, or insist with --force"
}

// with returns the line as a shell reads it, with a flag and its value after the command.
func (l Line) with(flag, value string) string {
	words := []string{l.called(), flag, value}
	for _, word := range l.Typed[min(len(strings.Fields(l.called()))-1, len(l.Typed)):] {
		words = append(words, text.ShellWord(word))
	}
	return strings.Join(words, " ")
}

// Mistake rewords an error of package flag, whose errors have no types, and returns a
// hint with the fix.
func (l Line) Mistake(text string) (problem, hint string) {
	problem, hint = l.problem(text)
	if hint == "" {
		hint = l.called() + " --help lists the flags"
	}
	return problem, hint
}

func (l Line) problem(text string) (problem, hint string) {
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return l.called() + " has no flag " + dashed(name), l.unknownFlagHint(name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return dashed(name) + " needs a value", ""
	}
	m := regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return text, ""
	}
	return dashed(m[2]) + ": " + l.valueProblem(m[1], m[2], m[3]), ""
}

// valueProblem returns what is wrong with the quoted value of a flag. said is the error
// from the flag's Set method.
func (l Line) valueProblem(value, name, said string) string {
	for _, f := range l.Command.Flags {
		switch {
		case !slices.Contains(f.Names, name):
		case f.Kind == Number:
			return value + " is not a whole number"
		case f.Kind == Switch:
			return "takes no value"
		}
	}
	return said
}

// unknownFlagHint returns a hint for a flag that a command does not have.
func (l Line) unknownFlagHint(name string) string {
	if l.Command.Name != "" {
		if others := l.commandsWith(name); len(others) > 0 {
			return l.strayFlagHint(name, others)
		}
		if best := config.Nearest(name, l.Command.FlagNames()); best != "" {
			return "did you mean " + dashed(best) + "?"
		}
		return ""
	}
	isCommand := func(word string) bool { _, known := find(l.Commands, word); return known }
	at := slices.IndexFunc(l.Typed, isCommand)
	switch {
	case at >= 0:
		others := slices.Delete(slices.Clone(l.Typed), at, at+1)
		return "flags come after the command: pmcheck " + l.Typed[at] + " " + strings.Join(others, " ")
	case isCommand(name):
		return "pmcheck " + name
	}
	return ""
}

// strayFlagHint returns a hint for a flag that only other commands have. It must not
// suggest a similar flag: for drain --host m2, drain --hold m2 would drain this host.
func (l Line) strayFlagHint(name string, others []string) string {
	command := l.Command.Name
	switch {
	case l.acts() && name == "host":
		const flag = "--host"
		host := "HOST"
		for i, word := range l.Typed {
			if value, joined := strings.CutPrefix(word, flag+"="); joined {
				host = value
			} else if word == flag && i+1 < len(l.Typed) {
				host = l.Typed[i+1]
			}
		}
		return fmt.Sprintf("%s acts on this host only; for the other: ssh %s sudo pmcheck %[1]s", command, host)
	case l.acts() && name == "fleet":
		return command + " acts on this host only; run it on each master, one at a time"
	}
	return fmt.Sprintf("%s is a flag of pmcheck %s", dashed(name), strings.Join(others, ", "))
}

// Arguments checks the arguments of a command against the names of those it takes; one in
// brackets is optional. It returns the first argument that is missing or surplus, and a
// hint; problem is empty if there is no mistake. given reports whether a flag was given.
func (l Line) Arguments(typed, names []string, given func(flag string) bool) (problem, hint string) {
	command := strings.TrimPrefix(l.called(), "pmcheck ")
	switch {
	case len(typed) < len(names) && names[len(typed)][0] != '[':
		return command + " needs " + names[len(typed)], l.called() + " " + strings.Join(names, " ")
	case len(typed) > len(names):
		word := typed[len(names)]
		return fmt.Sprintf("%s takes no argument %q", command, word), l.stray(word, given)
	}
	return "", ""
}

// BeforeDashes returns a hint for a program that does not exist, if it is a word before the --
// that begins a command.
func (l Line) BeforeDashes(program string, given func(flag string) bool) string {
	if dashes := slices.Index(l.Typed, "--"); dashes < 0 || !slices.Contains(l.Typed[:dashes], program) {
		return ""
	}
	return l.stray(program, given)
}

// stray returns a hint for a word that is neither a flag nor the value of one.
func (l Line) stray(word string, given func(flag string) bool) (hint string) {
	_, notLength := config.ParseDuration(word)
	switch {
	case strings.HasPrefix(word, "-"):
		return "flags come before arguments"
	case notLength == nil && given("wait"):
		return "write --wait=" + word
	case given("reason"):
		return "put a reason of several words in quotes"
	case l.Command.Name == "wait" && notLength == nil:
		return "write --timeout " + word
	case notLength == nil && l.has("for"), l.Command.Name == "wait" && (word == "ready" || word == "out"):
		return "write --for " + word
	case l.has("service") && slices.Contains([]string{"server", "ca", "puppetdb"}, word):
		return "write --service " + word
	case l.has("reason"):
		return l.Command.Name + " acts on this host only; a reason is given with --reason"
	case l.acts():
		return l.Command.Name + " acts on this host only"
	}
	return l.called() + " --help lists the flags"
}

// has reports whether the command has a flag.
func (l Line) has(flag string) bool { return slices.Contains(l.Command.FlagNames(), flag) }

// acts reports whether the command acts on this host only, although commands of that name
// in other programs take the name of a host.
func (l Line) acts() bool {
	return slices.Contains([]string{"drain", "maint", "ready", "wait", "with-hold", "check"}, l.Command.Name)
}

// commandsWith lists the commands that have a flag.
func (l Line) commandsWith(flag string) (names []string) {
	for _, c := range l.Commands {
		if slices.Contains(c.FlagNames(), flag) {
			names = append(names, c.Name)
		}
	}
	return names
}

// UnknownCommand returns a hint for a command that does not exist.
func (l Line) UnknownCommand(name string) (hint string) {
	if meant := otherWord(name); meant != "" {
		return "pmcheck " + string(meant)
	}
	var names []string
	for _, c := range l.Commands {
		names = append(names, c.Name)
	}
	if best := config.Nearest(name, names); best != "" {
		return "did you mean pmcheck " + best + "?"
	}
	return "pmcheck --help lists the commands"
}

// otherWord returns the command that other tools call name. A suggestion by spelling
// could be the opposite command.
func otherWord(name string) drain.Mode {
	switch name {
	case "undrain", "unmaint", "uncordon", "resume", "enable", "up":
		return drain.Ready
	case "cordon", "disable", "down", "stop":
		return drain.Drain
	case "maintain", "maintenance":
		return drain.Maint
	}
	return ""
}
