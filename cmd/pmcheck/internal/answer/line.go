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
// HAProxy keeps what a line does not mention, and only an agent-check can take
// back what an agent-check has said. So every line has both words, and the next
// line leads out of every state. The weight goes with ready alone: in drain it
// means nothing, and HAProxy 2.6 logs a warning for each one.
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

// AgentCheck returns what an agent-check is told at now. The code is what the
// same balancer would get over HTTP.
func AgentCheck(s *monitor.State, weight int, now time.Time) Answer {
	mode, _ := s.Mode(monitor.Server, now)
	server, _ := s.Service(monitor.Server)
	v := server.Verdict.At(now)
	return Answer{Code: Decide(mode, v, Codes{}).Code, Body: Line(mode, v, weight)}
}
