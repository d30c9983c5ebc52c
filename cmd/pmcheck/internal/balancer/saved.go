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

// UnmarshalJSON reads no more balancers than a Tracker remembers.
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
	texts := []string{string(b.Service), b.Asks, b.Answer.Body}
	if slices.ContainsFunc(texts, isUnprintable) {
		return "texts"
	}

	if !isName(b.Node) || !isName(b.Name) {
		return "names"
	}
	if b.Source.Zone() != "" {
		return "names"
	}

	codes := append(b.Codes.All(), b.Answer.Code)
	if slices.ContainsFunc(codes, isNoCode) {
		return "codes"
	}

	if b.Checks < 0 || b.Answers < 0 {
		return "numbers"
	}
	// The weights are added up, and the interval becomes a duration.
	if isOutside(b.OthersWeight) || isOutside(b.UnitWeight) {
		return "numbers"
	}
	if isOutsideInterval(b.Interval) || isOutsideInterval(b.DownInterval) {
		return "numbers"
	}

	if b.View != nil && !b.View.isPossible() {
		return "a view"
	}
	return ""
}

// isPossible reports whether a header can say what the view says.
func (v *View) isPossible() bool {
	numbers := []int{v.Step, v.Steps, v.Weight, v.WeightTotal, v.Sessions, v.SessionsTotal}
	return isState(v.State) && !slices.ContainsFunc(numbers, isOutside)
}

func isUnprintable(shown string) bool { return shown != text.Printable(shown, maxText) }

// isNoCode reports whether a number is neither a status code nor 0, for a code that was not chosen.
func isNoCode(code int) bool { return code < 0 || code > 599 }

// maxNumber bounds the numbers in a view.
const maxNumber = 1 << 31

func isOutside(n int) bool { return n < 0 || n > maxNumber }

func isOutsideInterval(n float64) bool { return n < 0 || n > maxNumber }
