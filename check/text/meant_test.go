package text_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/check/text"
)

func TestMeantIsOneSlipAway(t *testing.T) {
	names := []string{"timeout", "interval", "warn", "warn_percent", "ca", "crl"}
	for word, want := range map[string]string{
		"timeout":      "timeout",
		"TIMEOUT":      "timeout",
		"timeuot":      "timeout",
		"timeot":       "timeout",
		"timeoutt":     "timeout",
		"timeaut":      "timeout",
		"intervals":    "interval",
		"time":         "timeout",
		"tim":          "", // too short to tell
		"timeout_secs": "timeout",
		"warn_per":     "", // warn with more behind it, or warn_percent cut short
		"cl":           "", // crl or ca
		"tmieuot":      "", // two slips
		"":             "",
	} {
		if got := text.Meant(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
