package answer

import (
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// Line is Decide for HAProxy's agent-check: one line without its newline.
//
//	mode    verdict serves   line
//	ready   yes              ready up 73% # ok
//	ready   no               ready down 73% # reason
//	drain   yes              drain up # ok
//	maint   no               maint down # reason
//
// HAProxy keeps the state that a line does not mention, and only an agent-check can
// undo what an agent-check has set. So every line has both words, and the next line
// can end any state. The weight is sent with ready only: in drain it means nothing,
// and HAProxy 2.6 logs a warning for each one.
func Line(mode drain.Mode, v check.Verdict, weight int) string {
	word := "down"
	if v.Health.Serves() {
		word = "up"
	}
	switch mode {
	case drain.Ready:
		weight = min(max(weight, minWeight), FullWeight)
		return fmt.Sprintf("%s %s %d%% # %s", mode, word, weight, v.Reason)
	case drain.Drain:
	default: // maint, and every value that is not a mode
		mode = drain.Maint
	}
	return fmt.Sprintf("%s %s # %s", mode, word, v.Reason)
}

// AgentCheck returns the answer to an agent-check at now. The code is the one that
// the same balancer would get over HTTP.
func AgentCheck(s *monitor.State, weight int, now time.Time) Answer {
	mode, _ := s.Mode(monitor.Server, now)
	server, _ := s.Service(monitor.Server)
	v := server.Verdict.At(now)
	return Answer{Code: Decide(mode, v, Codes{}).Code, Body: Line(mode, v, weight)}
}
