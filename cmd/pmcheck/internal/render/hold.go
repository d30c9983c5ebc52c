package render

import (
	"fmt"
	"strings"

	"github.com/pmcheck/pmcheck/drain"
)

// Held is Hold for a hold that stays, with what to do about a file that cannot
// be read. For a directory the error of the hold says so.
func Held(h drain.Hold) string {
	if h.Code == drain.Unreadable && h.Holder != drain.Directory {
		return Hold(h) + "; mend or remove " + h.Path
	}
	return Hold(h)
}

// Hold describes a hold on one line.
func Hold(h drain.Hold) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", h.Mode, h.Holder)
	if h.Service != "" {
		fmt.Fprintf(&b, " on %s", h.Service)
	}
	if who := h.Who(); who != "" {
		fmt.Fprintf(&b, " (%s)", who)
	}
	if h.Reason != "" {
		fmt.Fprintf(&b, ": %s", h.Reason)
	}
	if h.Error != "" {
		fmt.Fprintf(&b, ": %s: %s", h.Code, h.Error)
	}
	switch {
	case !h.Until.IsZero():
		fmt.Fprintf(&b, ", until %s", h.Until.Local().Format("2006-01-02 15:04:05 MST"))
		if h.UntilReboot {
			b.WriteString(" or reboot")
		}
	case h.UntilReboot:
		b.WriteString(", until reboot")
	case h.Code == "":
		b.WriteString(", no end")
	}
	return b.String()
}
