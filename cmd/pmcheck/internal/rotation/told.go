package rotation

import (
	"cmp"
	"slices"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// Telling is what some balancers are told.
type Telling struct {
	api.Answer
	// Balancers is how many are told this, and Asks what they ask for.
	Balancers int      `json:"balancers"`
	Asks      []string `json:"asks"`
}

// Told returns what the balancers of a service are told now, each by the codes that
// it chose, in the order of the codes. It is empty if no balancer asks.
func Told(s api.Status, service string) (list []Telling) {
	v, _ := s.Service(service)
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		told := answer.Decide(v.Mode, v.Verdict, answer.Codes{Drain: b.DrainCode, Maint: b.MaintCode})
		at := slices.IndexFunc(list, func(t Telling) bool { return t.Answer == told })
		if at < 0 {
			at, list = len(list), append(list, Telling{Answer: told})
		}
		t := &list[at]
		if t.Balancers++; !slices.Contains(t.Asks, b.Asks()) {
			t.Asks = append(t.Asks, b.Asks())
		}
	}
	slices.SortStableFunc(list, func(x, y Telling) int { return cmp.Compare(x.Code, y.Code) })
	return list
}
