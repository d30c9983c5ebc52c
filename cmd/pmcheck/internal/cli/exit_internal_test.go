package cli

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
)

// TestTheHintFitsWhatIsInTheWay: to wait longer helps only against what ends by itself.
func TestTheHintFitsWhatIsInTheWay(t *testing.T) {
	for name, tt := range map[string]struct {
		left leave.Error
		want string
	}{
		"a slot that did not come":   {leave.Error{Kind: leave.Refused}, "--timeout"},
		"the only server":            {leave.Error{Left: blocker.Only(blocker.OnlyServer, "lb1")}, "bring another master up"},
		"a hold lifted by another":   {leave.Error{Kind: leave.Gone}, "pmcheck status shows the holds"},
		"a daemon that is silent":    {leave.Error{Kind: leave.Silent}, "systemctl restart pmcheck"},
		"agents that have not ended": {leave.Error{Kind: leave.NotIdle}, ""},
	} {
		hint := explainLeft(&tt.left, &tt.left).hint
		if !strings.Contains(hint, tt.want) || tt.want != "--timeout" && strings.Contains(hint, "--timeout") {
			t.Errorf("%s: %q", name, hint)
		}
	}
}
