package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// If the persistent directory cannot be written, a new hold may go to the other one. That
// does not help to lift a hold, nor to set one that goes to the other directory anyway.
func TestHintNamesUntilRebootOnlyIfAPersistentHoldCannotBeSet(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		failed := &drain.WriteError{Op: "write", Path: "/holds/operator.json", Dir: "/holds", Err: cause}
		for _, tt := range []struct {
			name string
			err  error
			want bool
		}{
			{"drain", setHint(leave.Request{}, failed), true},
			{"drain --until-reboot", setHint(leave.Request{Hold: drain.Hold{UntilReboot: true}}, failed), false},
			{"with-hold", setHint(leave.Request{New: true}, failed), false},
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
