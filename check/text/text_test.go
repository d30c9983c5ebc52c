package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pmcheck/pmcheck/check/text"
)

func TestDurationIsExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		2 * time.Second:                "2s",
		2 * time.Minute:                "2m",
		time.Hour:                      "1h",
		time.Hour + time.Second:        "1h0m1s",
		48 * time.Hour:                 "2d",
		720 * time.Hour:                "30d",
		720*time.Hour + 30*time.Minute: "720h30m",
		-720 * time.Hour:               "-720h",
		-1 << 63:                       "-2562047h47m16.854775808s",
	} {
		if got := text.Duration(d); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestAgeIsRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                 "0s",
		1960 * time.Millisecond:           "2s",
		9960 * time.Millisecond:           "10s",
		119400 * time.Millisecond:         "1m59s",
		2*time.Minute + 59*time.Second:    "2m",
		47*time.Hour + 59*time.Minute:     "47h59m",
		48*time.Hour + time.Minute:        "2d",
		30*24*time.Hour - time.Nanosecond: "29d",
	} {
		if got := text.Age(d); got != want {
			t.Errorf("Age(%s) = %s, want %s", d, got, want)
		}
	}
}

func TestPrintableIsSafeForATerminal(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		limit            int
	}{
		{"lines", " a\r\n\tb\u2028c ", "a b c", 100},
		{"control characters", "a\x00\x1b[31mb\u202e", "a[31mb", 100},
		{"not UTF-8", "a\xffb", "ab", 100},
		{"truncated", "abcdef", "abc", 3},
		{"truncated inside a letter", "aü", "a", 2},
		{"truncated behind a space", "a bc", "a", 2},
		{"empty", "", "", 3},
	} {
		if got := text.Printable(tt.text, tt.limit); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzPrintable: any text becomes one short line, which stays as it is.
func FuzzPrintable(f *testing.F) {
	f.Add("a\x00\x1b[31mb\u202e\xff", 7)
	f.Add("é é é", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		got := text.Printable(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q is kept", got)
		}
		if again := text.Printable(got, limit); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
