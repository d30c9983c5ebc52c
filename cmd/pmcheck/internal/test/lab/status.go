package lab

import (
	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// The types of the daemon's status. The suites use these names, so that they do not import
// the daemon's packages themselves.
type (
	Status        = status.Status
	ServiceStatus = status.ServiceStatus
	ProbeStatus   = status.ProbeStatus
	Answer        = status.Answer
	Balancer      = status.Balancer
	BudgetStatus  = status.BudgetStatus
	ConfigStatus  = status.ConfigStatus
	Blocker       = blocker.Blocker
	View          = status.View
	Page          = page.Page
)

// Names and texts that pmcheck uses.
const (
	ServingBody     = answer.Serving // the body of a 200 answer
	ServingResponse = "200 " + ServingBody
)

// NewPage returns the status page.
func NewPage() *page.Page { return page.New() }

// Finding returns the result of the named check of the first service, or the zero value if
// the check is off.
func Finding(s Status, name string) check.Finding {
	for _, c := range s.Services[0].Checks {
		if c.Check == name {
			return c
		}
	}
	return check.Finding{}
}

// VerdictText returns the verdict of a service with its reason, such as "busy: jruby-busy".
func VerdictText(s ServiceStatus) string {
	return string(s.Verdict.Health) + ": " + string(s.Verdict.Reason)
}
