package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/drain"
)

// A hold file may have any name, and other users write holds. Every text of a hold is
// therefore made printable here, and cut to these lengths.
const (
	maxName = 255 // of a file
	maxLine = 1000
)

func holdText(h drain.Hold, now time.Time) string {
	if h.Since.IsZero() {
		return Held(h)
	}
	return Held(h) + ", since " + when(h.Since, now)
}

// Held is like Hold, for a hold that stays. It adds what to do about a file that cannot
// be read. For a directory, the error of the hold says that.
func Held(h drain.Hold) string {
	if h.Code == drain.Unreadable && h.Holder != drain.Directory {
		return Hold(h) + "; mend or remove " + strconv.Quote(h.Path)
	}
	return Hold(h)
}

// Hold describes a hold on one line.
func Hold(h drain.Hold) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", h.Mode, text.Printable(h.Holder, maxName))
	if h.Leaving != drain.Firm {
		b.WriteString(", leaving")
	}
	if h.Service != "" {
		fmt.Fprintf(&b, " on %s", text.Printable(h.Service, maxName))
	}
	if who := h.Who(); who != "" {
		fmt.Fprintf(&b, " (%s)", text.Printable(who, maxName))
	}
	if h.Reason != "" {
		fmt.Fprintf(&b, ": %s", text.Printable(h.Reason, maxLine))
	}
	if h.Error != "" {
		fmt.Fprintf(&b, ": %s: %s", text.Printable(h.Code, maxName), text.Printable(h.Error, maxLine))
	}
	switch {
	case !h.Until.IsZero():
		fmt.Fprintf(&b, ", until %s", text.Clock(h.Until))
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
