package lab

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/drain"
)

// What pmcheck knows, as its own packages define it. The suites use these names,
// so that they depend on the daemon's packages here alone.
type (
	Status        = agent.Status
	ServiceStatus = agent.ServiceStatus
	CheckStatus   = agent.CheckStatus
	ProbeStatus   = agent.ProbeStatus
	Answer        = agent.Answer
	Balancer      = agent.Balancer
	Client        = agent.Client
	ConfigStatus  = agent.ConfigStatus
	HoldStatus    = agent.HoldStatus
	KindAnswer    = agent.KindAnswer
	View          = agent.View
	Codes         = agent.Codes
	Sample        = agent.Sample // of the history that the page draws
	Page          = agent.Page
)

// What pmcheck calls things.
const (
	ServerService   = agent.Server     // the service that balancers of agents ask for
	AgentCheckName  = agent.AgentCheck // the balancer that asks by agent-check
	ServingBody     = agent.Serving    // the body of an answer of 200
	ServingResponse = "200 " + ServingBody
)

// NewPage returns the page that pmcheck shows to a browser.
func NewPage() *Page { return agent.NewPage() }

// Decide returns what balancers are told.
func Decide(mode drain.Mode, v check.Verdict, codes Codes) Answer {
	return agent.Decide(mode, v, codes)
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
