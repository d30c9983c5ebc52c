package config_test

import (
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// judge fails the test unless the configuration is valid, or each of its faults is one
// line.
func judge(t *testing.T, l *config.Loaded, err error) {
	t.Helper()
	if err == nil {
		for _, s := range l.Settings() {
			if s.Origin == "" {
				t.Errorf("%s has no origin", s.Key)
			}
		}
		return
	}
	faults := []error{err}
	if all, are := err.(interface{ Unwrap() []error }); are {
		faults = all.Unwrap()
	}
	for _, f := range faults {
		if text := f.Error(); text == "" || strings.ContainsAny(text, "\r\n") {
			t.Errorf("not one line: %q", text)
		}
	}
}

func FuzzConfig(f *testing.F) {
	text, err := os.ReadFile(sample)
	must(f, err)
	f.Add(string(text))
	f.Add("probe: {timeout: 5, timeuot: 1s}\nallow: [10.0.0.0/8, x]\n")
	f.Add("listen: ':1'\nallow: [::/0]\nfleet: ['m1']\n---\n")
	f.Add("listen: &a [*a]\n? [x]\n: y\n<<: *a\n")
	f.Add("log: {level: !!int debug}\nbudget: {pool: !x a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := config.Load(config.Options{File: "F", Root: root(t, map[string]string{"F": text})})
		judge(t, l, err)
	})
}

// FuzzEnvironment: whatever the environment contains, each fault is a short line.
func FuzzEnvironment(f *testing.F) {
	f.Add("PMCHECK_LISTEN=:1\nPMCHECK_ALLOW=10.0.0.0/8,x\nPMCHECK_PROBE_TIMEOUT=5\nHOME=/root")
	f.Add("PMCHECK_\nPMCHECK_=\nPMCHECK_SOCKET=\nPMCHECK_HOLDS=x\n=\nPMCHECK_FLEET=a,,b\x1b[2J")
	f.Add("PMCHECK_BUDGET_DATABASE=postgresql://a:b@[::1]:5433/x?y=z\nPMCHECK_MAX_OUT=10%")
	f.Fuzz(func(t *testing.T, environ string) {
		for pair := range strings.SplitSeq(environ, "\n") {
			name, value, _ := strings.Cut(pair, "=")
			if strings.HasPrefix(name, "PMCHECK_") && !strings.Contains(pair, "\x00") { // the kernel takes no NUL
				t.Setenv(name, value)
			}
		}
		l, err := config.Load(config.Options{Root: t.TempDir(), Environment: true})
		judge(t, l, err)
		if err == nil {
			return
		}
		for _, fault := range err.(interface{ Unwrap() []error }).Unwrap() {
			if text := fault.Error(); len(text) > 500 || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("a fault of %d bytes: %q", len(text), text)
			}
		}
	})
}
