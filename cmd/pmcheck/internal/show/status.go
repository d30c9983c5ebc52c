// Package show writes what people read on a terminal: a status, a report, a
// pool, progress. It decides nothing.
package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Status writes a status.
func Status(w io.Writer, st status.Status) {
	up := text.Age(st.Time.Sub(st.Started))
	fmt.Fprintf(w, "%s at %s, pmcheck %s up %s\n", st.Certname, st.Probe.Address, st.Version, up)
	for _, s := range st.Services {
		fmt.Fprintln(w)
		printService(w, s, st)
	}
	printBalancers(w, st)
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	printProbe(t, st)
	printBudget(t, st)
	row(t, "gate", gateText(st.Gate, st.Time))
	row(t, "believed", st.Believes())
	for _, warning := range st.Warnings {
		row(t, "warning", warning)
	}
	if st.Config.Error != "" {
		fmt.Fprintf(t, "config\tnot reloaded: %s\n", strings.ReplaceAll(st.Config.Error, "\n", "; "))
	}
	t.Flush()
}

// StatusScreen returns the status of one host as a screen of Watch.
func StatusScreen(st status.Status, err error) Screen {
	if err != nil {
		return Screen{Text: err.Error() + "\n", Line: err.Error()}
	}
	var b strings.Builder
	Status(&b, st)
	s, _ := st.Service(monitor.Server)
	return Screen{
		Text: b.String(),
		Line: fmt.Sprintf("%d %s, mode %s, %s", s.Answer.Code, s.Answer.Body, s.Mode, Verdict(s.Verdict)),
	}
}

func printService(w io.Writer, s status.ServiceStatus, st status.Status) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprintf(t, "%s\t%s\n", s.Name, headline(s))
	fmt.Fprintf(t, "mode\t%s\n", s.Mode)
	for _, h := range st.Holds {
		if h.Covers(s.Name) {
			fmt.Fprintf(t, "  hold\t%s\n", holdLine(h.Hold, st.Time))
		}
	}
	v := s.Verdict
	fmt.Fprintf(t, "verdict\t%s: %s since %s\n", v.Health, v.Reason, when(v.Since, st.Time))
	row(t, "  detail", v.Detail)
	row(t, "  hint", s.Hint)
	for _, c := range s.Checks {
		row(t, "check", checkLine(c, st.Time))
	}
	may, because := s.MayRestart()
	row(t, "restart", may)
	for _, line := range balancer.Texts(because, 5) {
		row(t, "", line)
	}
	if !slices.ContainsFunc(st.Balancers, func(b status.Balancer) bool { return b.Service == s.Name }) {
		fmt.Fprintf(t, "answer\t%s, but no balancer asks\n", answerText(s.Answer))
	}
}

// row writes a row of a table unless its value is empty.
func row(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "%s\t%s\n", name, value)
	}
}

// checkLine returns a check as a row: state, value, threshold, age, and below it the
// fault and its hint.
func checkLine(c status.CheckStatus, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-7s ", c.Check, c.State)
	if c.Value != "" {
		fmt.Fprintf(&b, "%s, ", c.Value)
	}
	if c.Threshold != "" {
		fmt.Fprintf(&b, "threshold %s, ", c.Threshold)
	}
	fmt.Fprintf(&b, "%s ago", text.Age(now.Sub(c.Checked)))
	if c.Detail != "" {
		fmt.Fprintf(&b, "\n\t  %s: %s", c.Reason, c.Detail)
	}
	if c.Hint != "" && c.State != check.StateOK {
		fmt.Fprintf(&b, "\n\t  hint: %s", c.Hint)
	}
	return b.String()
}

// headline returns the state of a service in a few words.
func headline(s status.ServiceStatus) string {
	switch {
	case s.Serves():
		return "in service"
	case s.Leaving != drain.Firm:
		return "leaving: held in " + string(s.Mode)
	case s.Mode != drain.Ready:
		return "OUT of service: held in " + string(s.Mode)
	}
	return "OUT of service: " + string(s.Verdict.Health)
}

// printBalancers writes which balancers ask, what they were told, and their view of
// the master.
func printBalancers(w io.Writer, st status.Status) {
	if len(st.Balancers) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprintln(t, "\nbalancer\tasks for\tevery\tlast\ttold\tits view\tweight\tsessions")
	for _, b := range st.Balancers {
		view, weight, sessions := "not told", "", ""
		if v := b.View; v != nil {
			view = v.String()
			weight = fmt.Sprintf("%d/%d", v.Weight, v.WeightTotal)
			sessions = fmt.Sprintf("%d/%d", v.Sessions, v.SessionsTotal)
		}
		every, last := text.Age(status.Seconds(b.Interval)), text.Age(st.Time.Sub(b.Seen))
		told := answerText(b.Answer)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s ago\t%s\t%s\t%s\t%s\n",
			b.Label(), b.Asks(), every, last, told, view, weight, sessions)
	}
}

func printProbe(w io.Writer, st status.Status) {
	p := st.Probe
	if p.Count == 0 {
		fmt.Fprintln(w, "probe\tnone yet")
		return
	}
	took := text.Latency(status.Seconds(p.Took))
	fmt.Fprintf(w, "probe\t%s, took %s, %s\n", when(p.Asked, st.Time), took, p.URL)
	if p.TLS != nil {
		row(w, "server", "certificate "+Expiry(p.TLS.Server.NotAfter, st.Time))
	}
	if p.Own != nil {
		row(w, "own", "certificate "+Expiry(p.Own.NotAfter, st.Time))
	}
	if len(p.CRLs) > 0 {
		first := slices.MinFunc(p.CRLs, func(a, b check.CRL) int { return a.Expires.Compare(b.Expires) })
		row(w, "crl", Expiry(first.Expires, st.Time))
	}
}

// when writes a time both ways: how long ago, and by the clock.
func when(t, now time.Time) string {
	return fmt.Sprintf("%s ago (%s)", text.Age(now.Sub(t)), text.Clock(t))
}
