package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// meant returns the words of other programs and of every day for three commands. They are known, and not guessed: the
// command most like "undrain" is drain.
func meant() map[string][]string {
	return map[string][]string{
		"ready": {"undrain", "unmaint", "unhold", "enable", "up", "on", "in", "resume", "online", "activate", "release",
			"lift", "return", "back"},
		"drain": {"unready", "disable", "down", "off", "out", "pause", "offline", "deactivate", "hold"},
		"maint": {"maintenance"},
	}
}

// suggest returns a hint for a command that does not exist: what the word means, or the one command that is a single
// slip away. It never suggests the opposite of what was typed, and rather nothing than a guess.
func suggest(commands []*cli.Command, typed string) string {
	typed = strings.ToLower(typed)

	for command, words := range meant() {
		if slices.Contains(words, typed) {
			return didYouMean(command)
		}
	}

	var close []string
	for _, c := range commands {
		for _, name := range c.Names() {
			if oneSlip(typed, name) {
				close = append(close, name)
			}
		}
	}
	if len(close) != 1 {
		return ""
	}
	return didYouMean(close[0])
}

func didYouMean(command string) string { return fmt.Sprintf("Did you mean %q?", "pmcheck "+command) }

// oneSlip reports whether one letter too many, too few, another or two that changed places make one word of the other.
func oneSlip(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}

	start := 0
	for start < len(b) && a[start] == b[start] {
		start++
	}
	restA, restB := a[start:], b[start:]

	switch {
	case restA == "":
		return false // the same word
	case len(a) == len(b)+1:
		return restA[1:] == restB
	case len(a) > len(b):
		return false
	}

	other := restA[1:] == restB[1:]
	swapped := len(restA) > 1 && restA[0] == restB[1] && restA[1] == restB[0] && restA[2:] == restB[2:]
	return other || swapped
}
