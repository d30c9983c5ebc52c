package cli

import (
	"flag"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/drain"
)

// If the persistent directory cannot be written, a new hold may go to the other one. That
// does not help to lift a hold, nor to set one that goes to the other directory anyway.
func TestHintNamesUntilRebootOnlyIfAPersistentHoldCannotBeSet(t *testing.T) {
	context := func(args ...string) *cli.Context {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		set.Bool("until-reboot", false, "")
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		return cli.NewContext(cli.NewApp(), set, nil)
	}
	for _, cause := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		failed := &drain.WriteError{Op: "write", Path: "/holds/operator.json", Dir: "/holds", Err: cause}
		for _, tt := range []struct {
			name string
			err  error
			want bool
		}{
			{"drain", setHint(context(), failed), true},
			{"drain --until-reboot", setHint(context("--until-reboot"), failed), false},
			{"ready", writeHint(failed), false},
		} {
			exit, ok := tt.err.(*exitError)
			if !ok || !strings.Contains(exit.hint, "/holds") {
				t.Fatalf("%s, %v: no hint on the directory in %#v", tt.name, cause, tt.err)
			}
			if got := strings.Contains(exit.hint, "--until-reboot"); got != tt.want {
				t.Errorf("%s, %v: hint %q", tt.name, cause, exit.hint)
			}
		}
	}
}
