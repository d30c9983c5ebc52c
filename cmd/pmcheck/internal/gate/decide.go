package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// holdsTime is how old the holds may be. A directory that cannot be read in this time,
// such as one on a server that hangs, says nothing any more.
const holdsTime = 10 * time.Second

// Facts are what the gate decides from.
type Facts struct {
	Now   time.Time
	Holds drain.Snapshot
	// Alone says why no other master of the pool serves; empty if one does, and if that
	// is not known.
	Alone string
}

// Decision is whether new connections are refused, and why.
type Decision struct {
	Closed bool
	Reason string
}

// Decide closes the gate while a hold that could be read asks for drain or maint of the
// master itself. Every doubt about the holds leaves it open: agents that reach a master
// which should be left alone are better off than agents that reach none.
func Decide(f Facts) Decision {
	if f.Now.Sub(f.Holds.Taken()) > holdsTime {
		return Decision{false, "the directories of holds do not answer"}
	}
	all := f.Holds.At(f.Now).Holds()
	var by []string
	mode, unreadable, lost := drain.Ready, "", false
	for _, h := range all {
		lost = lost || h.Holder == drain.Directory
		switch {
		case !h.Covers(monitor.Server) || h.Mode == drain.Ready:
		case h.Code != "":
			unreadable = h.Holder
		case mode == drain.Ready || mode == h.Mode: // the strictest come first
			mode = h.Mode
			by = append(by, h.Holder)
		}
	}
	// What says that a host is not new any more is in the directory that is lost.
	if lost && len(by) == 1 && by[0] == drain.Initial {
		by = nil
	}
	held := fmt.Sprintf("held in %s by %s", mode, strings.Join(by, ", "))
	switch {
	case len(by) > 0 && f.Alone != "":
		return Decision{false, held + ", but " + f.Alone}
	case len(by) > 0:
		return Decision{true, held}
	case unreadable != "":
		return Decision{false, fmt.Sprintf("the hold of %s cannot be read", unreadable)}
	}
	return Decision{false, "not held"}
}
