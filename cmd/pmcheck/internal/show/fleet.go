package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Fleet writes a pool as a table, the masters that are out first. Below it are code that
// differs, errors, which are too long for a column, and as the last line the pool in short:
// the end of a long table is what remains on a terminal.
func Fleet(w io.Writer, members []status.Member) {
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b status.Member) int { return cmp.Compare(inService(a), inService(b)) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cell := func(string) string { return "" } // of the column of slots, which only a budget has
	if slices.ContainsFunc(members, func(m status.Member) bool { return m.Status != nil && m.Status.Budget != nil }) {
		cell = func(s string) string { return s + "\t" }
	}
	fmt.Fprintf(t, "master\ttold\tsince\tmode\tverdict\tbalancers\tjrubies\tcode\t%sholds\n", cell("slot"))
	var errors, differences []string
	most := mostCode(members)
	for _, m := range members {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\t-\tno status\t-\t-\t-\t%s-\n", m.Host, cell("-"))
			errors = append(errors, m.Host+": "+m.Error)
			continue
		}
		s, _ := m.Status.Service(monitor.Server)
		code := codeText(m)
		if names := most.otherwise(m); len(names) > 0 {
			code += " differs"
			differences = append(differences, text.Printable(fmt.Sprintf("%s: code of %s is not that of most masters",
				m.Host, strings.Join(names, ", ")), maxDifference))
		}
		since := cmp.Or(s.ServingSince, s.Verdict.Since) // older daemons do not send ServingSince
		fmt.Fprintf(t, "%s\t%d\t%s ago\t%s\t%s\t%s\t%s\t%s\t%s%s\n", m.Host, s.Answer.Code,
			text.Age(m.Status.Time.Sub(since)), s.Mode, Verdict(s.Verdict), viewsText(m.Status.Balancers),
			poolText(s), code, cell(slotText(m.Status.Budget)), holdersText(m.Status.Holds))
	}
	t.Flush()
	for _, list := range [][]string{differences, errors, {fleetLine(members)}} {
		if len(list) > 0 {
			fmt.Fprintf(w, "\n%s\n", strings.Join(text.First(list, maxListed), "\n"))
		}
	}
}

// maxListed bounds the lists below a table: a pool of a thousand masters that is cut off
// has a thousand errors. With the line that says how many more there are, it is 20.
const maxListed = 19

// inService returns 1 for a master that balancers are told to use, otherwise 0.
func inService(m status.Member) int {
	if m.Serves() {
		return 1
	}
	return 0
}

// maxDifference bounds a line about code that differs: names in it come from other masters.
const maxDifference = 400

// viewsText counts the views that balancers have of a master, the worst first:
// "DOWN 1/2, 2 UP".
func viewsText(balancers []status.Balancer) string {
	count := map[string]int{}
	for i := range balancers {
		switch b := &balancers[i]; {
		case b.Service != monitor.Server || !b.Counts():
		case b.View == nil:
			count["not told"]++
		default:
			count[b.View.String()]++
		}
	}
	var parts []string
	for _, view := range slices.SortedFunc(maps.Keys(count), worseFirst) {
		if n := count[view]; n > 1 {
			view = fmt.Sprintf("%d %s", n, view)
		}
		parts = append(parts, view)
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// worseFirst orders views. UP with steps is on its way to DOWN.
func worseFirst(a, b string) int {
	rank := func(view string) int {
		order := []string{"DOWN", "MAINT", "DRAIN", "NOLB", "UP ", "UP", "not told"}
		return slices.IndexFunc(order, func(state string) bool { return strings.HasPrefix(view, state) })
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// Verdict returns a verdict in a word or two.
func Verdict(v check.Verdict) string {
	if v.Reason == check.OK {
		return string(v.Health)
	}
	return string(v.Health) + ": " + string(v.Reason)
}

func poolText(s status.ServiceStatus) string {
	if pool, _ := s.Pool(); pool != nil {
		return fmt.Sprintf("%d/%d free", pool.Free, pool.Size)
	}
	return "-"
}

// codeText returns the id of the code of the environment production, or of the first
// one if there is no production. Masters with the same id have the same code.
func codeText(m status.Member) string {
	id := ""
	for i, e := range deployed(m) {
		if i == 0 || e.Name == "production" {
			id = e.ID
		}
	}
	return cmp.Or(id, "-")
}

// deployed returns the environments of a member that say which code they have; none without a
// status.
func deployed(m status.Member) (list []check.Environment) {
	if m.Status == nil {
		return nil
	}
	s, _ := m.Status.Service(monitor.Server)
	for _, c := range s.Checks {
		for _, e := range c.Code {
			if e.ID != "" {
				list = append(list, e)
			}
		}
	}
	return list
}

// codes counts the masters that have each code: by environment, then by id.
type codes map[string]map[string]int

// mostCode counts the code of a pool.
func mostCode(members []status.Member) codes {
	c := codes{}
	for _, m := range members {
		for _, e := range deployed(m) {
			if c[e.Name] == nil {
				c[e.Name] = map[string]int{}
			}
			c[e.Name][e.ID]++
		}
	}
	return c
}

// otherwise returns the environments of a member that do not have the code of more than half of
// the masters with that environment. Clocks have no part in it: a deployment that is under way
// shows, and so does a pair of masters that differ, both of them.
func (c codes) otherwise(m status.Member) (environments []string) {
	for _, e := range deployed(m) {
		total := 0
		for _, masters := range c[e.Name] {
			total += masters
		}
		if 2*c[e.Name][e.ID] <= total {
			environments = append(environments, e.Name)
		}
	}
	return environments
}

func holdersText(holds []status.HoldStatus) string {
	var names []string
	for _, h := range holds {
		name := h.Holder
		if h.Leaving != drain.Firm {
			name += " leaving"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ","), "-")
}

// FleetScreen returns the status of a pool as a screen of Watch.
func FleetScreen(members []status.Member) Screen {
	var b strings.Builder
	Fleet(&b, members)
	return Screen{Text: b.String(), Line: fleetLine(members)}
}

// fleetLine returns a pool on one line: how many masters serve, and those that do not, or
// not well.
func fleetLine(members []status.Member) string {
	serving := 0
	var others []string
	for _, m := range members {
		serving += inService(m)
		if m.Status == nil {
			others = append(others, m.Host+" no status")
			continue
		}
		s, _ := m.Status.Service(monitor.Server)
		switch {
		case s.Mode != drain.Ready:
			others = append(others, fmt.Sprintf("%s %d %s", m.Host, s.Answer.Code, s.Mode))
		case !s.Serves() || s.Verdict.Health != check.Healthy:
			others = append(others, fmt.Sprintf("%s %d %s", m.Host, s.Answer.Code, Verdict(s.Verdict)))
		}
	}
	line := fmt.Sprintf("%d of %d masters serve", serving, len(members))
	if len(others) > 0 {
		line += ": " + strings.Join(text.First(others, maxListed), ", ")
	}
	return line
}
