package drain

import "slices"

// Mode is what the operators want of a master, in HAProxy's spelling. Its zero
// value is no mode; where a mode is needed it counts as Maint, so that a
// forgotten assignment never makes a master ready.
type Mode string

// The modes, from the least to the most strict.
const (
	Ready Mode = "ready" // takes new agents
	Drain Mode = "drain" // finishes what is running and takes nothing new
	Maint Mode = "maint" // takes nothing
)

// rank returns how strict a mode is. Any other text ranks like Maint.
func (m Mode) rank() int {
	if i := slices.Index([]Mode{Ready, Drain}, m); i >= 0 {
		return i
	}
	return 2
}
