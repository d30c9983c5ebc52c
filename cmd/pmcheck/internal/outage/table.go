package outage

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// Texts are cut to these lengths.
const (
	maxName   = 255
	maxReason = 200
)

// Write writes a table of outages.
func Write(w io.Writer, list []Outage) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no outages")
		return
	}
	name := func(s string) string { return text.Printable(s, maxName) }
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "since\tlasted\tend\tmode\tservice\tholder\tby\treason")
	for _, o := range list {
		lasted := text.Age(api.Seconds(o.Seconds))
		if o.End == Unseen {
			lasted = "at most " + lasted
		}
		by := drain.Hold{By: o.By, Owner: o.Owner}.Who()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", text.Clock(o.Since), lasted, o.ending(),
			name(string(o.Mode)), cmp.Or(name(o.Service), "all"), name(o.Holder), cmp.Or(name(by), "-"),
			cmp.Or(text.Printable(cmp.Or(o.Error, o.Reason), maxReason), "-"))
	}
	t.Flush()
}

// ending says how an outage ended, or when it ends by itself.
func (o Outage) ending() string {
	switch {
	case o.End != "":
		return string(o.End)
	case o.Until.IsZero():
		return "still out"
	}
	return "still out, until " + text.Clock(o.Until)
}
