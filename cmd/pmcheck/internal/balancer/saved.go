package balancer

import (
	"fmt"
	"slices"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
)

// Saved is what [Tracker.All] returned, as the file that one daemon leaves for the next. In JSON it is refused unless a
// Tracker can have written it.
type Saved List

// UnmarshalJSON reads the balancers, of which there are no more than a Tracker remembers.
func (s *Saved) UnmarshalJSON(data []byte) error {
	list, err := bounded.List[Balancer](data, maxBalancers)
	if err != nil {
		return fmt.Errorf("balancers: %w", err)
	}
	for i := range list {
		if what := list[i].impossible(); what != "" {
			return fmt.Errorf("balancer %d: no Tracker keeps such %s", i, what)
		}
	}
	*s = list
	return nil
}

// impossible returns what of a balancer no Tracker keeps: "" if there is nothing.
func (b *Balancer) impossible() string {
	unprintable := func(shown string) bool { return shown != text.Printable(shown, maxName) }
	if slices.ContainsFunc([]string{string(b.Service), b.Asks, b.Answer.Body}, unprintable) {
		return "texts"
	}
	if !isName(b.Node) || !isName(b.Name) || b.Source.Zone() != "" {
		return "names"
	}
	noCode := func(code int) bool { return code < 0 || code > 599 }
	if slices.ContainsFunc([]int{b.Drain, b.Maint, b.Unhealthy, b.Answer.Code}, noCode) {
		return "codes"
	}
	// The interval becomes a duration, and the weights are added up.
	counted := b.Checks >= 0 && b.Answers >= 0 && !outside(b.OthersWeight, b.UnitWeight)
	if !counted || b.Interval < 0 || b.Interval > maxNumber {
		return "numbers"
	}
	if b.View != nil && b.View.impossible() {
		return "a view"
	}
	return ""
}

// impossible reports whether the view is none that a header can have.
func (v *View) impossible() bool {
	return !isState(v.State) || outside(v.Step, v.Steps, v.Weight, v.WeightTotal, v.Sessions, v.SessionsTotal)
}

// maxNumber bounds the numbers in a view.
const maxNumber = 1 << 31

func outside(numbers ...int) bool {
	return slices.ContainsFunc(numbers, func(n int) bool { return n < 0 || n > maxNumber })
}
