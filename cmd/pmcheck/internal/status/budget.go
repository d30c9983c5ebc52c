package status

import (
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
)

// BudgetStatus is the budget of the pool as the daemon saw it last.
type BudgetStatus struct {
	Pool string `json:"pool"`
	budget.View
	// Reachable says whether the database answered the last question, asked at Asked;
	// Since is when that began. While it does not answer, the rest is its last answer.
	Reachable bool      `json:"reachable"`
	Since     time.Time `json:"since"`
	Asked     time.Time `json:"asked"`
	Error     string    `json:"error,omitempty"`
}
