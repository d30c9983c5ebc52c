package check

import "github.com/pmcheck/pmcheck/check/puppetclient"

// Reason is a short code that explains a master's state. The set is closed and safe
// to show to any client: a reason never contains outside input. Each check declares
// its own reasons; the reasons why a request fails are in package puppetclient.
type Reason = puppetclient.Reason

// The reasons that belong to no check.
const (
	OK       Reason = "ok"
	NotKnown Reason = "not-known" // the check could not find out
)

// Owner says whose fault it is that a reason is given.
type Owner string

// The owners. Only what this master does takes it out of its pool: see Cause.Health.
const (
	OfMaster  Owner = "master"  // what this very master does, or positive evidence about it
	OfPool    Owner = "pool"    // what masters share
	OfPmcheck Owner = "pmcheck" // what pmcheck holds or cannot find out, and its bounds
)

// Cause is a reason, and everything that is known of it.
type Cause struct {
	Reason Reason
	Owner  Owner
	// Health is the worst that the reason gives the verdict; empty if it gives none. A fault of the probe gives it
	// always. Unknown does not end a verdict: see Judge.
	Health Health
	Begins string // what is seen when it begins
	Ends   string // what must be seen before it ends: the contrary of what began it
	Hint   string // what an operator can do about it; empty where the detail beside it is enough
}

// row is a reason in a table of causes, with what begins it and a hint. An empty hint is none.
type row struct {
	reason Reason
	begins string
	hint   string
}

// causes returns the rows of a table, whose causes have everything else in common.
func causes(owner Owner, health Health, ends string, rows ...row) (list []Cause) {
	for _, r := range rows {
		list = append(list, Cause{
			Reason: r.reason,
			Owner:  owner,
			Health: health,
			Begins: r.begins,
			Ends:   ends,
			Hint:   r.hint,
		})
	}
	return list
}

// causeOf returns what is known of a reason; false for a reason that no check declares.
func causeOf(r Reason) (c Cause, known bool) {
	for _, one := range All() {
		for _, cause := range one.Reasons {
			if cause.Reason == r {
				return cause, true
			}
		}
	}
	return Cause{}, false
}

// Hint returns what an operator can do about the reason. It is empty where the detail
// beside it is enough.
func Hint(r Reason) string {
	cause, _ := causeOf(r)
	return cause.Hint
}

// healthOf returns what a fault of the probe means for the master. A reason that no check declares counts against it.
func healthOf(r Reason) Health {
	cause, known := causeOf(r)
	if !known {
		return Unhealthy
	}
	return cause.Health
}
