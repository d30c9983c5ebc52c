package cli

import (
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

// TestTheBudgetNamesThePersonBehindSudo: of a script, its holder says more.
func TestTheBudgetNamesThePersonBehindSudo(t *testing.T) {
	t.Setenv("SUDO_USER", "alice")
	for holder, want := range map[string]string{drain.Operator: "alice", "script": ""} {
		if got := person(holder); got != want {
			t.Errorf("%q takes it out as %s, want %q", got, holder, want)
		}
	}
}
