package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// Budget writes the masters that are out, as the database sees them.
func Budget(w io.Writer, settings config.Budget, v budget.View) {
	b := status.BudgetStatus{Pool: settings.Pool}
	b.Take(v)
	fmt.Fprintf(w, "pool %s: %d out, %d allowed\n", b.Pool, b.Out, b.Allowed)
	if len(b.Slots) == 0 {
		return
	}
	t := table(w)
	fmt.Fprintln(t, "\nmaster\tout since\theard of\tby\treason\tnotes")
	for _, s := range b.Slots {
		fmt.Fprintf(t, "%s\t%s\t%s ago\t%s\t%s\t%s\n", s.Master, when(s.Since, v.Now), text.Age(v.Now.Sub(s.Seen)),
			cmp.Or(s.By, "-"), cmp.Or(s.Reason, "-"), slotNotes(s))
	}
	t.Flush()
}

func slotNotes(s status.Slot) string {
	var notes []string
	for _, n := range []struct {
		is   bool
		note string
	}{{s.Own, "this master"}, {s.Forced, "forced"}, {s.Recorded, "did not ask"}, {s.Lapsed, "lapsed"}} {
		if n.is {
			notes = append(notes, n.note)
		}
	}
	return cmp.Or(strings.Join(notes, ", "), "-")
}

// budgetRows writes the rows of the budget in a status.
func budgetRows(w io.Writer, st status.Status) {
	b := st.Budget
	if b == nil {
		return
	}
	state := ""
	if !b.Reachable {
		state = ", not reachable since " + when(b.Since, st.Time)
	}
	row(w, "budget", fmt.Sprintf("pool %s, %d out, %d allowed%s", b.Pool, b.Out, b.Allowed, state))
	for _, s := range b.Slots {
		row(w, "  slot", s.At(st.Time))
	}
}

// slotText is the slot of a master in the table of a pool.
func slotText(b *status.BudgetStatus) string {
	switch {
	case b == nil:
		return "-"
	case !b.Reachable:
		return "not known"
	case !b.Held:
		return "none"
	case slices.ContainsFunc(b.Slots, func(s status.Slot) bool { return s.Own && s.Forced }):
		return "forced"
	}
	return "held"
}
