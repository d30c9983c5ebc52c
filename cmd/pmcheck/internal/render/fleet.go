package render

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
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// Fleet writes a pool as a table. Errors are below it: they are too long for a column.
func Fleet(w io.Writer, members []api.Member) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cell := func(string) string { return "" } // of the column of slots, which only a budget has
	if slices.ContainsFunc(members, func(m api.Member) bool { return m.Status != nil && m.Status.Budget != nil }) {
		cell = func(s string) string { return s + "\t" }
	}
	fmt.Fprintf(t, "master\ttold\tsince\tmode\tverdict\tbalancers\tjrubies\tcode\t%sholds\n", cell("slot"))
	var errors []string
	for _, m := range members {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\t-\tno status\t-\t-\t-\t%s-\n", m.Host, cell("-"))
			errors = append(errors, m.Host+": "+m.Error)
			continue
		}
		s, _ := m.Status.Service(monitor.Server)
		since := cmp.Or(s.ServingSince, s.Verdict.Since) // older daemons do not send ServingSince
		fmt.Fprintf(t, "%s\t%d\t%s ago\t%s\t%s\t%s\t%s\t%s\t%s%s\n", m.Host, s.Answer.Code,
			text.Age(m.Status.Time.Sub(since)), s.Mode, Verdict(s.Verdict), viewsText(m.Status.Balancers),
			poolText(s), codeText(s.Checks), cell(slotText(m.Status.Budget)), holdersText(m.Status.Holds))
	}
	t.Flush()
	for i, lag := range api.Lags(members) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, text.Printable(lag.String(), maxLag))
	}
	if len(errors) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(errors, "\n"))
	}
}

// maxLag bounds a line about code that lags: names in it come from other masters.
const maxLag = 400

// viewsText counts the views that balancers have of a master, the worst first:
// "DOWN 1/2, 2 UP".
func viewsText(balancers []api.Balancer) string {
	count := map[string]int{}
	for i := range balancers {
		switch b := &balancers[i]; {
		case b.Service != monitor.Server || !b.Counts() || b.Name == api.AgentCheck:
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

func poolText(s api.ServiceStatus) string {
	if pool, _ := s.Pool(); pool != nil {
		return fmt.Sprintf("%d/%d free", pool.Free, pool.Size)
	}
	return "-"
}

// codeText returns the id of the code of the environment production, or of the first
// one if there is no production. Masters with the same id have the same code.
func codeText(checks []api.CheckStatus) string {
	id := "-"
	for _, c := range checks {
		for i, e := range c.Code {
			if i == 0 || e.Name == "production" {
				id = e.ID
			}
		}
	}
	return id
}

func holdersText(holds []api.HoldStatus) string {
	var names []string
	for _, h := range holds {
		switch {
		case h.Mode != drain.Ready:
			names = append(names, h.Holder)
		case h.Holder == drain.Guard: // it announces a stop, and holds nothing
			names = append(names, h.Holder+" waits")
		}
	}
	return cmp.Or(strings.Join(names, ","), "-")
}

// FleetScreen returns the status of a pool as a screen of Watch.
func FleetScreen(members []api.Member) Screen {
	var b strings.Builder
	Fleet(&b, members)
	return Screen{Text: b.String(), Line: fleetLine(members)}
}

// fleetLine returns a pool on one line, for a log.
func fleetLine(members []api.Member) string {
	var parts []string
	for _, m := range members {
		text := "no status"
		if m.Status != nil {
			s, _ := m.Status.Service(monitor.Server)
			text = fmt.Sprintf("%d %s", s.Answer.Code, Verdict(s.Verdict))
			if s.Mode != drain.Ready {
				text = fmt.Sprintf("%d %s", s.Answer.Code, s.Mode)
			}
		}
		parts = append(parts, m.Host+": "+text)
	}
	return strings.Join(parts, ", ")
}
