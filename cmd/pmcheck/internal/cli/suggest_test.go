package cli

import (
	"io"
	"strings"
	"testing"
)

func TestSuggestionIsNeverTheOpposite(t *testing.T) {
	for typed, want := range map[string]string{
		"undrain": "ready", "unmaint": "ready", "enable": "ready", "up": "ready", "UP": "ready", "resume": "ready",
		"disable": "drain", "down": "drain", "unready": "drain", "maintenance": "maint",

		"drian": "drain", "drai": "drain", "drainn": "drain", "drsin": "drain", "reday": "ready", "mant": "maint",
		"statsu": "status", "with-hld": "with-hold",

		"redrain": "", "dedrain": "", "un-drain": "", "nodrain": "", "remove-from-pool": "", "notready": "", "x": "", "-": "",
	} {
		if want != "" {
			want = `Did you mean "pmcheck ` + want + `"?`
		}
		app := newApp(strings.NewReader(""), io.Discard, io.Discard)
		if got := suggest(app.Commands, typed); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

// A word that is known must be no command, and no slip of another command than the one that it means.
func TestKnownWordsAreUnambiguous(t *testing.T) {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	seen := map[string]bool{}
	for command, words := range meant() {
		if app.Command(command) == nil {
			t.Errorf("%s is no command", command)
		}
		for _, word := range words {
			if app.Command(word) != nil || seen[word] {
				t.Errorf("%s is a command, or is known twice", word)
			}
			seen[word] = true
		}
	}
}
