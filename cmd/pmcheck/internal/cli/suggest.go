package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
)

// meant returns words of other programs, and everyday words, for three commands. A guess by likeness would be wrong:
// the command most like "undrain" is drain.
func meant() map[string][]string {
	return map[string][]string{
		"ready": {"undrain", "unmaint", "unhold", "enable", "up", "on", "in", "resume", "online", "activate", "release",
			"lift", "return", "back"},
		"drain": {"unready", "disable", "down", "off", "out", "pause", "offline", "deactivate", "hold"},
		"maint": {"maintenance"},
	}
}

// suggest returns a hint for a command that does not exist: what the word means, or the command that it is a slip of.
func suggest(commands []*cli.Command, typed string) string {
	typed = strings.ToLower(typed)

	for command, words := range meant() {
		if slices.Contains(words, typed) {
			return didYouMean(command)
		}
	}

	var names []string
	for _, c := range commands {
		names = append(names, c.Names()...)
	}
	command := text.Meant(typed, names)
	if command == "" {
		return ""
	}
	return didYouMean(command)
}

func didYouMean(command string) string { return fmt.Sprintf("Did you mean %q?", "pmcheck "+command) }
