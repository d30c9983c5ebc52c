package status

import (
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
)

// Slot is one master of the pool that is out.
type Slot = budget.Slot

// BudgetStatus is the budget of the pool as the daemon saw it last. Its times, but for
// Since and Asked, are by the database's clock.
type BudgetStatus struct {
	Database string `json:"database"`
	Pool     string `json:"pool"`
	MaxOut   string `json:"max_out"` // by this master's configuration
	Allowed  int    `json:"allowed"` // masters that may be out by that
	// Out are the masters that are out and count, and Forced those among them that
	// were too many.
	Out    int    `json:"out"`
	Forced int    `json:"forced"`
	Held   bool   `json:"held"` // this master has a slot
	Slots  []Slot `json:"slots"`
	// Reachable says whether the database answered the last question, asked at Asked;
	// Since is when that began. While it does not answer, the rest is its last answer.
	Reachable bool      `json:"reachable"`
	Since     time.Time `json:"since"`
	Asked     time.Time `json:"asked"`
	Error     string    `json:"error,omitempty"`
}

// Take replaces what is known by an answer of the database.
func (b *BudgetStatus) Take(v budget.View) {
	b.Slots, b.Allowed = v.Slots, v.Allowed
	_, b.Held = v.Own()
	b.Out, b.Forced = 0, 0
	for _, s := range v.Slots {
		if s.Lapsed {
			continue
		}
		b.Out++
		if s.Forced {
			b.Forced++
		}
	}
}

// warnings are sentences about a budget that does not work as it is probably meant.
func (b *BudgetStatus) warnings() (list []string) {
	if b == nil {
		return nil
	}
	if !b.Reachable && b.Error != "" {
		list = append(list, b.Error+"; until it answers, drain and maint are refused")
	}
	for _, s := range b.Slots {
		if !s.Own && s.MaxOut != b.MaxOut {
			list = append(list, fmt.Sprintf("max_out is %s on %s and %s here: the stricter one binds itself alone",
				s.MaxOut, s.Master, b.MaxOut))
		}
	}
	return list
}
