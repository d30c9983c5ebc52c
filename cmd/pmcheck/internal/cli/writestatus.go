package cli

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// WriteStatus writes a status as a person reads it on a terminal.
func WriteStatus(w io.Writer, st status.Status) {
	up := text.Age(st.Time.Sub(st.Started))
	row(w, st.Certname, fmt.Sprintf("at %s, pmcheck %s up %s", st.Probe.Address, st.Version, up))
	for _, s := range st.Services {
		fmt.Fprintln(w)
		service(w, s, st)
	}
	fmt.Fprintln(w)

	for _, b := range st.Balancers {
		name := "client" // it may be no balancer, such as a browser
		if b.Counts() {
			name = "balancer"
		}
		if b.Turns() {
			name = "turns"
		}
		row(w, name, balancerText(b, st.Time))
	}

	probe(w, st)
	if st.Budget != nil {
		writeBudget(w, st.Budget, st.Time)
	}
	row(w, "gate", gateText(st.Gate, st.Time))
	row(w, "believed", believedText(st))

	for _, warning := range st.Warnings {
		row(w, "warning", warning)
	}
	if st.Config.Error != "" {
		row(w, "config", "not reloaded: "+strings.ReplaceAll(st.Config.Error, "\n", "; "))
	}
}

func service(w io.Writer, s status.ServiceStatus, st status.Status) {
	row(w, string(s.Name), st.State(s.Name))
	row(w, "mode", string(s.Mode))
	for _, h := range st.Holds {
		if !h.Covers(s.Name) {
			continue
		}
		since := ""
		if !h.Since.IsZero() { // a hold because of a directory has no time
			since = ", since " + text.When(h.Since, st.Time)
		}
		row(w, "  hold", h.String()+since)
	}

	v := s.Verdict
	row(w, "verdict", fmt.Sprintf("%s: %s since %s", v.Health, v.Reason, text.When(v.Since, st.Time)))
	row(w, "  detail", v.Detail)
	row(w, "  hint", check.Hint(v.Reason))
	for _, c := range s.Checks {
		checkRows(w, c, v, st.Time)
	}

	may, because := st.MayRestart(s)
	row(w, "restart", may)
	for _, line := range blocker.Texts(because, 5) {
		row(w, "", line)
	}
}

// checkRows writes a check: state, value and age, and below it the fault and its hint, unless they are the verdict's.
// A value that is not known any more is not shown.
func checkRows(w io.Writer, c check.Finding, v check.Verdict, now time.Time) {
	isForgotten := c.Value != "" && c.State == check.StateNone
	if isForgotten {
		return
	}

	line := c.Check + " " + string(c.State)
	if c.Value != "" {
		line += ", " + c.Value
	}
	row(w, "check", line+", "+text.Age(now.Sub(c.Checked))+" ago")

	if c.Reason == v.Reason {
		return
	}
	if c.Detail != "" {
		row(w, "  detail", string(c.Reason)+": "+c.Detail)
	}
	if c.State != check.StateOK {
		row(w, "  hint", check.Hint(c.Reason))
	}
}

// believedText returns the networks of the setting balancers or, if it is not set, the line that sets it.
func believedText(st status.Status) string {
	if !st.BelievesAll() {
		return strings.Trim(fmt.Sprint(st.Believed), "[]")
	}
	sources := st.Balancers.Sources()
	if len(sources) == 0 {
		return "any client"
	}
	list := strings.ReplaceAll(fmt.Sprint(sources), " ", ", ")
	return "any client; to trust these alone, set balancers: " + list
}

func balancerText(b status.Balancer, now time.Time) string {
	view := "no view"
	if b.Unreadable {
		view = "a view that cannot be read"
	}
	if v := b.View; v != nil {
		view = fmt.Sprintf("%s, weight %d/%d, sessions %d/%d", v, v.Weight, v.WeightTotal, v.Sessions, v.SessionsTotal)
	}

	every := ""
	if b.Interval > 0 {
		every = " every " + text.Age(status.Seconds(b.Interval))
	}

	return fmt.Sprintf("%s: %s; told %d %s ago; asks %s%s",
		b.Label(), view, b.Answer.Code, text.Age(now.Sub(b.Seen)), b.Asks, every)
}

func probe(w io.Writer, st status.Status) {
	p := st.Probe
	if p.Count == 0 {
		row(w, "probe", "none yet")
		return
	}

	asked := p.URL
	if u, err := url.Parse(p.URL); err == nil {
		asked = u.Path
	}
	took := status.Seconds(p.Took).Round(time.Millisecond / 10)
	row(w, "probe", fmt.Sprintf("%s, took %s, %s", text.When(p.Asked, st.Time), took, asked))
}

// gateText returns the gate on one line; "" if none runs on the host.
func gateText(g *status.GateStatus, now time.Time) string {
	if g == nil {
		return ""
	}
	if !g.Runs(now) {
		return "has not looked since " + text.When(g.Looked, now)
	}
	if !g.Closed {
		return "open: " + g.Reason
	}
	return fmt.Sprintf("closed since %s: %s; %d attempts to connect refused", text.When(g.Since, now), g.Reason, g.Refused)
}

// writeBudget writes which masters of a pool are out, as the database said it last.
func writeBudget(w io.Writer, b *status.BudgetStatus, now time.Time) {
	state := ""
	if !b.Reachable {
		state = ", not reachable since " + text.When(b.Since, now)
	}
	row(w, "budget", fmt.Sprintf("pool %s, %d out, %d allowed%s", b.Pool, b.Out, b.Allowed, state))
	for _, s := range b.Slots {
		row(w, "  slot", s.String())
	}
}

// A row has a name and a value, which begins in column indent and wraps at words: no row is wider than
// width, unless a word is.
const (
	width  = 80
	indent = 11
)

func row(w io.Writer, name, value string) {
	if value == "" {
		return
	}

	line := fmt.Sprintf("%-*s", indent-1, name)
	for word := range strings.FieldsSeq(value) {
		columns := utf8.RuneCountInString(line)
		isTooLong := columns+1+utf8.RuneCountInString(word) > width
		if isTooLong && columns >= indent {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", indent-1)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
