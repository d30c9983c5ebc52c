package balancer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// StateHeader contains HAProxy's view of the master, if "http-check send-state" is set.
const StateHeader = "X-Haproxy-Server-State"

// TellTimes is how many refusals in a row take a master out of a balancer that
// does not send its view: HAProxy's default fall. balancers.md says that it must need
// no more.
const TellTimes = 3

// Bounds on what is taken from a header.
const (
	maxView = 1 << 10 // the header
	maxText = 128     // a name, or what the client asked for
)

// View is what a balancer reports about this master: HAProxy's server state.
type View struct {
	// State is UP, DOWN, NOLB, DRAIN or MAINT: HAProxy's conclusion. HAProxy 2.2 to 3.2 send only the first three.
	State string `json:"state"`
	// Step counts the checks on the way to another state.
	Step          int `json:"step,omitempty"`
	Steps         int `json:"steps,omitempty"` // how many checks it takes to get there; 0 when settled
	Weight        int `json:"weight"`          // the master's
	WeightTotal   int `json:"weight_total"`    // of all servers that take sessions
	Sessions      int `json:"sessions"`        // that the master has
	SessionsTotal int `json:"sessions_total"`  // in the backend

	node, name string
	throttled  bool // the master gets its weight gradually: slowstart
}

// Sends reports whether the master is UP for the balancer, which then gives it new sessions. HAProxy
// also reports UP, but gives it none, if the server has weight 0 or was drained in HAProxy itself.
// Such a server follows the answers like any other: a 404 makes it NOLB, and 200 makes it UP again.
func (v *View) Sends() bool { return v.State == "UP" }

// Last reports whether the master is the only server to which the balancer
// gives new sessions.
func (v *View) Last() bool { return v.Sends() && v.Weight > 0 && v.Weight == v.WeightTotal }

// OthersWeight returns the weight of all other servers that take new sessions. The
// total includes the master's own weight while it is UP, unless the total is below that
// weight: HAProxy also reports UP for a server that was drained in HAProxy itself.
func (v *View) OthersWeight() int {
	if v.Sends() && v.WeightTotal >= v.Weight {
		return v.WeightTotal - v.Weight
	}
	return v.WeightTotal
}

// String returns the state, and the steps if any, in HAProxy's format.
func (v *View) String() string {
	if v.Steps > 0 {
		return fmt.Sprintf("%s %d/%d", v.State, v.Step, v.Steps)
	}
	return v.State
}

// parseView reads the header, for example
//
//	UP 2/3; address=198.51.100.7; port=8140; name=puppet/m1; node=lb1; weight=1/2; scur=3/7; qcur=0
//
// It is strict about the fields it uses, and returns nil if one is malformed. It ignores others: newer versions of
// HAProxy send more.
func parseView(header string) *View {
	if len(header) > maxView {
		return nil
	}

	v := &View{}
	state, fields, _ := strings.Cut(header, ";")
	ok := v.parseState(strings.TrimSpace(state))
	for field := range strings.SplitSeq(fields, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		ok = v.parseField(key, value) && ok
	}

	if !ok || !isName(v.name) || !isName(v.node) {
		return nil
	}
	return v
}

// parseState parses a state, and the steps on the way to the next state if there are any.
func (v *View) parseState(text string) bool {
	state, steps, _ := strings.Cut(text, " ")
	v.State = state
	if steps == "" {
		return isState(state)
	}
	return isState(state) && pair(steps, &v.Step, &v.Steps)
}

func (v *View) parseField(key, value string) bool {
	switch key {
	case "name":
		v.name = value
	case "node":
		v.node = value
	case "throttle":
		v.throttled = true
	case "weight":
		return pair(value, &v.Weight, &v.WeightTotal)
	case "scur":
		return pair(value, &v.Sessions, &v.SessionsTotal)
	}
	return true
}

func isState(word string) bool {
	return slices.Contains([]string{"UP", "DOWN", "NOLB", "DRAIN", "MAINT"}, word)
}

func pair(text string, a, b *int) bool {
	first, second, found := strings.Cut(text, "/")
	return found && count(first, a) && count(second, b)
}

func count(text string, n *int) bool {
	parsed, err := strconv.ParseUint(text, 10, 31)
	*n = int(parsed)
	return err == nil
}

var nameOfHAProxy = regexp.MustCompile(`^[\w.:/-]*$`)

// isName reports whether HAProxy accepts a name for a node, a backend or a server, and a Tracker keeps it.
func isName(name string) bool { return len(name) <= maxText && nameOfHAProxy.MatchString(name) }
