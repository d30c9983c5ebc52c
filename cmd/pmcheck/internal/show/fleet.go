package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// maxListed bounds the lists below a table: a pool of a thousand masters that is cut off
// has a thousand errors. With the line that says how many more there are, it is 20.
const maxListed = 19

// table returns a writer that aligns cells, which end in tabs.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// Fleet writes a pool as a table, the masters that are out last: the end of a long table is what remains on a
// terminal. Below it are errors, which are too long for a column.
func Fleet(w io.Writer, members []status.Member) {
	serve := slices.DeleteFunc(slices.Clone(members), func(m status.Member) bool { return !m.Serves() })
	out := slices.DeleteFunc(slices.Clone(members), status.Member.Serves)
	t := table(w)
	fmt.Fprintln(t, "master\ttold\tsince\tmode\tverdict\tsend\tjrubies\tcode\tholds")
	var errors []string
	told, masters := 0, map[string]int{} // by their code
	for _, m := range members {
		if id := code(m); id != "" {
			masters[id]++
			told++
		}
	}
	for _, m := range slices.Concat(serve, out) {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\t-\tno status\t-\t-\t-\t-\n", m.Host)
			errors = append(errors, m.Host+": "+m.Error)
			continue
		}
		s := m.Status.Master()
		id := cmp.Or(code(m), "-")
		if n := masters[id]; n > 0 && 2*n <= told { // of a pair that differs, both do
			id += " differs"
		}
		fmt.Fprintf(t, "%s\t%d\t%s ago\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Host, s.Answer.Code,
			text.Age(m.Status.Time.Sub(s.ServingSince)), s.Mode, s.Verdict,
			sendText(m.Status.Balancers), poolText(s), id, holdersText(m.Status.Holds))
	}
	t.Flush()
	if len(errors) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(text.First(errors, maxListed), "\n"))
	}
	fmt.Fprintf(w, "\n%d of %d masters serve\n", len(serve), len(members))
}

func sendText(balancers []status.Balancer) string {
	send, tell := 0, 0
	for _, b := range balancers {
		if b.Service != drain.Master || b.View == nil {
			continue
		}
		if tell++; b.View.Sends() {
			send++
		}
	}
	return fmt.Sprintf("%d/%d", send, tell)
}

func poolText(s status.ServiceStatus) string {
	if pool, _ := s.Pool(); pool != nil && s.Verdict.Health.Serves() {
		return fmt.Sprintf("%d/%d free", pool.Free, pool.Size)
	}
	return "-"
}

// code returns the ID of the code of the environment production, or of the first one if there is no
// production; "" if it is not known.
func code(m status.Member) (id string) {
	if m.Status == nil {
		return ""
	}
	s := m.Status.Master()
	for _, c := range s.Checks {
		for i, e := range c.Code {
			if i == 0 || e.Name == "production" {
				id = e.ID
			}
		}
	}
	return id
}

func holdersText(holds []drain.Hold) string {
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
