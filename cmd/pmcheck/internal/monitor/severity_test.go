package monitor

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// What the explanations call the default is the default.
func TestDefaultSeverities(t *testing.T) {
	f := newFindings()
	f.configure(config.Default().Checks)
	for _, name := range check.Names() {
		if name == check.CheckProbe {
			continue
		}
		if got, want := f.severity[name], check.DefaultSeverity(name); got != want {
			t.Errorf("%s: %s by default, explained as %s", name, got, want)
		}
	}
}
