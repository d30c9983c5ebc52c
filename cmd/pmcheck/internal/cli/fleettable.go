package cli

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

// writeMembersTable writes a pool as a table, the masters that are out last: the end of a long table is what remains on
// a terminal. Below the table are errors, which are too long for a column.
func writeMembersTable(w io.Writer, members []member) {
	var serving, out []member
	for _, m := range members {
		if m.Status != nil && m.Status.InService() {
			serving = append(serving, m)
		} else {
			out = append(out, m)
		}
	}

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // a cell ends in a tab
	fmt.Fprintln(t, "master\ttold\tsince\tmode\tverdict\tsend\tjrubies\tcode\tholds")
	count := countCodes(members)
	var faults []string
	for _, m := range slices.Concat(serving, out) {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\t-\tno status\t-\t-\t-\t-\n", m.Host)
			faults = append(faults, m.Host+": "+m.Error)
			continue
		}
		s := m.Status.Master()
		fmt.Fprintf(t, "%s\t%d\t%s ago\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Host, s.Answer.Code,
			text.Age(m.Status.Time.Sub(s.InServiceSince)), s.Mode, s.Verdict,
			sendText(m.Status.Balancers), poolText(s), count.text(codeID(m)), holdersText(m.Status.Holds))
	}
	t.Flush()

	if len(faults) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(text.First(faults, maxListed), "\n"))
	}
	fmt.Fprintf(w, "\n%d of %d masters serve", len(serving), len(members))
	if len(faults) > 0 {
		fmt.Fprintf(w, ", %d not known", len(faults))
	}
	fmt.Fprintln(w)
}

// codes counts the masters that run each code, by its ID.
type codes map[string]int

func countCodes(members []member) codes {
	count := codes{}
	for _, m := range members {
		if id := codeID(m); id != "" {
			count[id]++
		}
	}
	return count
}

// text returns the ID of a code, and whether at most half of the masters run it: of a pair that differs, both differ.
func (c codes) text(id string) string {
	if id == "" {
		return "-"
	}
	known := 0
	for _, masters := range c {
		known += masters
	}
	if 2*c[id] <= known {
		return id + " differs"
	}
	return id
}

// sendText returns how many of the balancers that send their view send agents.
func sendText(balancers []status.Balancer) string {
	var sending, telling int
	for _, b := range balancers {
		if b.Service != drain.Master || b.View == nil {
			continue
		}
		telling++
		if b.View.Sends() {
			sending++
		}
	}
	return fmt.Sprintf("%d/%d", sending, telling)
}

func poolText(s status.ServiceStatus) string {
	if pool, _ := s.Pool(); pool != nil && s.Verdict.Health.Serves() {
		return fmt.Sprintf("%d/%d free", pool.Free, pool.Size)
	}
	return "-"
}

// codeID returns the ID of the code of the environment production, or of the first one if there is no
// production; "" if it is not known.
func codeID(m member) (id string) {
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
