package balancer

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

// Saved is the list of a [Tracker] in the file that one daemon leaves for the next. Save makes it, and List turns it
// back. Its JSON is refused unless a Tracker can have kept it.
type Saved []savedBalancer

// savedBalancer has what the file has of a Balancer. The rest is measured again.
type savedBalancer struct {
	Source  netip.Addr    `json:"source"`
	Node    string        `json:"node,omitempty"`
	Name    string        `json:"name,omitempty"`
	Service drain.Service `json:"service"`
	Asks    string        `json:"asks"`
	Seen    time.Time     `json:"seen"`
	Checks  int64         `json:"checks"`

	DrainCode     int `json:"drain_code"`
	MaintCode     int `json:"maint_code"`
	UnhealthyCode int `json:"unhealthy_code"`

	Interval     float64 `json:"interval_seconds"`
	DownInterval float64 `json:"down_interval_seconds,omitempty"`

	Answer  savedAnswer `json:"answer"`
	Answers int64       `json:"answers"`

	View       *savedView `json:"view,omitempty"`
	Unreadable bool       `json:"unreadable,omitempty"`
	Listed     bool       `json:"listed,omitempty"`

	OthersWeight int       `json:"others_weight,omitempty"`
	OthersSeen   time.Time `json:"others_seen,omitzero"`
	UnitWeight   int       `json:"unit_weight,omitempty"`
	UpSeen       time.Time `json:"up_seen,omitzero"`
	Twins        time.Time `json:"twins_seen,omitzero"`
}

// savedAnswer is an answer.Answer in the file.
type savedAnswer struct {
	Code int    `json:"code"`
	Body string `json:"body"`
}

// savedView has what the file has of a View.
type savedView struct {
	State         string `json:"state"`
	Step          int    `json:"step,omitempty"`
	Steps         int    `json:"steps,omitempty"`
	Weight        int    `json:"weight"`
	WeightTotal   int    `json:"weight_total"`
	Sessions      int    `json:"sessions"`
	SessionsTotal int    `json:"sessions_total"`
}

// Save returns what the next daemon has to know of the balancers.
func (l List) Save() Saved {
	saved := make(Saved, 0, len(l))
	for i := range l {
		saved = append(saved, save(&l[i]))
	}
	return saved
}

func save(b *Balancer) savedBalancer {
	s := savedBalancer{
		Source:        b.Source,
		Node:          b.Node,
		Name:          b.Name,
		Service:       b.Service,
		Asks:          b.Asks,
		Seen:          b.Seen,
		Checks:        b.Checks,
		DrainCode:     b.Codes.Drain,
		MaintCode:     b.Codes.Maint,
		UnhealthyCode: b.Codes.Unhealthy,
		Interval:      b.Interval,
		DownInterval:  b.DownInterval,
		Answer:        savedAnswer(b.Answer),
		Answers:       b.Answers,
		Unreadable:    b.Unreadable,
		Listed:        b.Listed,
		OthersWeight:  b.OthersWeight,
		OthersSeen:    b.OthersSeen,
		UnitWeight:    b.UnitWeight,
		UpSeen:        b.UpSeen,
		Twins:         b.Twins,
	}
	if v := b.View; v != nil {
		s.View = &savedView{
			State:         v.State,
			Step:          v.Step,
			Steps:         v.Steps,
			Weight:        v.Weight,
			WeightTotal:   v.WeightTotal,
			Sessions:      v.Sessions,
			SessionsTotal: v.SessionsTotal,
		}
	}
	return s
}

// List returns the balancers as far as they were saved, for [Tracker.Restore].
func (s Saved) List() List {
	list := make(List, 0, len(s))
	for i := range s {
		list = append(list, s[i].balancer())
	}
	return list
}

func (s *savedBalancer) balancer() Balancer {
	b := Balancer{
		Source:       s.Source,
		Node:         s.Node,
		Name:         s.Name,
		Service:      s.Service,
		Asks:         s.Asks,
		Seen:         s.Seen,
		Checks:       s.Checks,
		Codes:        answer.Codes{Drain: s.DrainCode, Maint: s.MaintCode, Unhealthy: s.UnhealthyCode},
		Interval:     s.Interval,
		DownInterval: s.DownInterval,
		Answer:       answer.Answer(s.Answer),
		Answers:      s.Answers,
		Unreadable:   s.Unreadable,
		Listed:       s.Listed,
		OthersWeight: s.OthersWeight,
		OthersSeen:   s.OthersSeen,
		UnitWeight:   s.UnitWeight,
		UpSeen:       s.UpSeen,
		Twins:        s.Twins,
	}
	if v := s.View; v != nil {
		b.View = &View{
			State:         v.State,
			Step:          v.Step,
			Steps:         v.Steps,
			Weight:        v.Weight,
			WeightTotal:   v.WeightTotal,
			Sessions:      v.Sessions,
			SessionsTotal: v.SessionsTotal,
		}
	}
	return b
}

// UnmarshalJSON reads no more balancers than a Tracker remembers.
func (s *Saved) UnmarshalJSON(data []byte) error {
	list, err := bounded.List[savedBalancer](data, maxBalancers)
	if err != nil {
		return fmt.Errorf("balancers: %w", err)
	}

	for i := range list {
		if part := list[i].impossible(); part != "" {
			return fmt.Errorf("balancer %d: no Tracker keeps such %s", i, part)
		}
	}
	*s = list
	return nil
}

// impossible returns which part of a balancer no Tracker keeps: "" if there is none.
func (s *savedBalancer) impossible() string {
	texts := []string{string(s.Service), s.Asks, s.Answer.Body}
	if slices.ContainsFunc(texts, isUnprintable) {
		return "texts"
	}

	if !isName(s.Node) || !isName(s.Name) {
		return "names"
	}
	if s.Source.Zone() != "" {
		return "names"
	}

	codes := []int{s.DrainCode, s.MaintCode, s.UnhealthyCode, s.Answer.Code}
	if slices.ContainsFunc(codes, isNoCode) {
		return "codes"
	}

	if s.Checks < 0 || s.Answers < 0 {
		return "numbers"
	}
	// The weights are added up, and the interval becomes a duration.
	if isOutside(s.OthersWeight) || isOutside(s.UnitWeight) {
		return "numbers"
	}
	if isOutsideInterval(s.Interval) || isOutsideInterval(s.DownInterval) {
		return "numbers"
	}

	if s.View != nil && !s.View.isPossible() {
		return "a view"
	}
	return ""
}

// isPossible reports whether a header can say what the view says.
func (v *savedView) isPossible() bool {
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
