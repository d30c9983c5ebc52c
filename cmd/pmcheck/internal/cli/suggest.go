package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
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

// suggest returns a hint for a command that does not exist: what the word means, or the one command that is a single
// slip away. Where two commands are, it suggests none.
func suggest(commands []*cli.Command, typed string) string {
	typed = strings.ToLower(typed)

	for command, words := range meant() {
		if slices.Contains(words, typed) {
			return didYouMean(command)
		}
	}

	var similar []string
	for _, c := range commands {
		for _, name := range c.Names() {
			if oneSlip(typed, name) {
				similar = append(similar, name)
			}
		}
	}
	if len(similar) != 1 {
		return ""
	}
	return didYouMean(similar[0])
}

func didYouMean(command string) string { return fmt.Sprintf("Did you mean %q?", "pmcheck "+command) }

// oneSlip reports whether one slip makes one word of the other: a letter too many, a letter too few, another letter, or
// two letters that changed places.
func oneSlip(typed, name string) bool {
	typed, name = withoutCommonEnds(typed, name)

	switch max(len(typed), len(name)) {
	case 1: // a letter too many or too few, or another letter
		return true
	case 2: // perhaps two letters that changed places
		letters := []byte(typed)
		slices.Reverse(letters)
		return string(letters) == name
	}
	return false
}

// withoutCommonEnds returns what is left of two words without the letters with which both begin, and then without the
// letters with which both end.
func withoutCommonEnds(a, b string) (restA, restB string) {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	return a, b
}
