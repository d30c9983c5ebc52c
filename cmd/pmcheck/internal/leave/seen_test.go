package leave_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
)

func longNames(s *shape) { s.longNames = true }

// TestABalancerWhoseViewCannotBeReadKeepsTheMaster: it may be its last server. The command says which balancer it is.
func TestABalancerWhoseViewCannotBeReadKeepsTheMaster(t *testing.T) {
	for name, s := range map[string]shape{
		"the last server": ordinary(1, turns, longNames),
		"one of two":      ordinary(2, turns, longNames),
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, func(ctx context.Context, p *pool) {
				set, err := leave.Out(ctx, p.members[0].world(), command())
				refused, is := errors.AsType[*leave.Error](err)
				if !is || refused.Kind != leave.Refused || !strings.Contains(err.Error(), "cannot be read") || set.Mode != "" {
					t.Errorf("%v, %v; want that the view cannot be read", set, err)
				}
				p.assertNoOutage(t)
			})
		})
	}
}
