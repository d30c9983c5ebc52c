//go:build linux

package lab

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/drain"
)

// What pmcheck knows, as its own packages define it. The suites use these names,
// so that they depend on the daemon's packages here alone.
type (
	Status        = api.Status
	ServiceStatus = api.ServiceStatus
	CheckStatus   = api.CheckStatus
	ProbeStatus   = api.ProbeStatus
	Answer        = api.Answer
	Balancer      = api.Balancer
	Told          = balancer.Told
	Client        = api.Client
	ConfigStatus  = api.ConfigStatus
	HoldStatus    = api.HoldStatus
	KindAnswer    = api.KindAnswer
	Obstacle      = api.Obstacle
	ObstacleKind  = api.ObstacleKind
	View          = api.View
	Codes         = answer.Codes
	Sample        = page.Sample // of the history that the page draws
	Page          = page.Page
)

// What pmcheck calls things.
const (
	ObstacleSending = api.ObstacleSending // a balancer still sends agents
	ObstacleLast    = api.ObstacleLast    // a balancer has no other server
	ServerService   = monitor.Server      // the service that balancers of agents ask for
	AgentCheckName  = api.AgentCheck      // the balancer that asks by agent-check
	ServingBody     = answer.Serving      // the body of an answer of 200
	ServingResponse = "200 " + ServingBody
)

// NewPage returns the page that pmcheck shows to a browser.
func NewPage() *Page { return page.New() }

// Decide returns what balancers are told.
func Decide(mode drain.Mode, v check.Verdict, codes Codes) Answer {
	return answer.Decide(mode, v, codes)
}

// Finding returns what a check of the first service has found; the zero value if
// it is not made.
func Finding(s Status, name string) CheckStatus {
	for _, c := range s.Services[0].Checks {
		if c.Check == name {
			return c
		}
	}
	return CheckStatus{}
}

// VerdictText is a verdict and its reason, such as "busy: jruby-busy".
func VerdictText(s ServiceStatus) string {
	return string(s.Verdict.Health) + ": " + string(s.Verdict.Reason)
}
