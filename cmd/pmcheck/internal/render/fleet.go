package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// Fleet writes a pool as a table.
func Fleet(w io.Writer, members []api.Member) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "master\ttold\tmode\tverdict\tsince\tjrubies\tcode\tholds")
	for _, m := range members {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\tno status: %s\n", m.Host, m.Error)
			continue
		}
		s, _ := m.Status.Service(monitor.Server)
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s ago\t%s\t%s\t%s\n", m.Host, s.Answer.Code, s.Mode, Verdict(s.Verdict),
			text.Age(m.Status.Time.Sub(s.Verdict.Since)), poolText(s), codeText(s.Checks), holdersText(m.Status.Holds))
	}
	t.Flush()
}

// Verdict is a verdict in a word or two.
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

// codeText is the id of the code of the first environment, production if
// there is one: masters with the same id have the same code.
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
		names = append(names, h.Holder)
	}
	return cmp.Or(strings.Join(names, ","), "-")
}

// FleetLine is a pool on one line, for a log.
func FleetLine(members []api.Member) string {
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
