//go:build linux

package tcp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vishvananda/netlink"
)

// The kernel tells that a list of sockets is not complete by an error beside it.
func TestAListThatWasInterruptedIsReadAgain(t *testing.T) {
	interrupted := fmt.Errorf("dump: %w", netlink.ErrDumpInterrupted)
	other := errors.New("no permission")
	for _, tt := range []struct {
		name  string
		errs  []error // of the readings, the last one of all that follow
		reads int
		want  error
	}{
		{"whole", []error{nil}, 1, nil},
		{"interrupted once", []error{interrupted, nil}, 2, nil},
		{"interrupted each time", []error{interrupted}, 5, interrupted},
		{"another error", []error{other}, 1, other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reads := 0
			list, err := whole(func() ([]int, error) {
				reads++
				return []int{reads}, tt.errs[min(reads, len(tt.errs))-1]
			})
			if err != tt.want || reads != tt.reads || list[0] != tt.reads {
				t.Errorf("reading %v of %d, %v; want %d readings, %v", list, reads, err, tt.reads, tt.want)
			}
		})
	}
}
