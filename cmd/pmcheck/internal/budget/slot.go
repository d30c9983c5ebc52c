package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/drain"
)

// Bounds on what is taken from the database, which other masters fill. A row takes 2.4 KiB at most, and in a pool
// with more masters that are out nobody is served.
const (
	maxSent   = 4 << 20 // bytes of all that the server sends
	maxSlots  = 1000
	maxLabel  = 64 // the name of a master, or of a user
	maxReason = 300
)

// Slot is one master that is out.
type Slot struct {
	Master   string    `json:"master"`             // its certname
	Since    time.Time `json:"since"`              // when it went out, by the database's clock
	Reason   string    `json:"reason,omitempty"`   // as it was given
	By       string    `json:"by,omitempty"`       // who asked for it
	Forced   bool      `json:"forced,omitempty"`   // more than allowed were out with it
	Recorded bool      `json:"recorded,omitempty"` // out without having asked
	Own      bool      `json:"own,omitempty"`      // of the master that reads this
	Lapsed   bool      `json:"lapsed,omitempty"`   // too old to count
}

// String says who is out, since when and why: "puppet2 is out since 2026-11-24 15:04 (alice: kernel)".
func (s Slot) String() string {
	out := s.Master + " is out since " + s.Since.Local().Format("2006-01-02 15:04")

	var why []string
	if asked := strings.Trim(s.By+": "+s.Reason, ": "); asked != "" {
		why = append(why, asked)
	}
	if s.Forced {
		why = append(why, "forced")
	}
	if s.Lapsed {
		why = append(why, "lapsed")
	}
	if len(why) == 0 {
		return out
	}
	return out + " (" + strings.Join(why, ", ") + ")"
}

// Usage is what the database says of a pool.
type Usage struct {
	Allowed int    `json:"allowed"`  // masters that may be out, by this one's configuration
	Out     int    `json:"out"`      // masters that are out and count
	Forced  int    `json:"forced"`   // how many of these were too many
	HasSlot bool   `json:"has_slot"` // the master that reads this has a slot
	Slots   []Slot `json:"slots"`    // the oldest first
}

// Own returns the slot of the master that read the usage, and whether there is one.
func (u Usage) Own() (Slot, bool) {
	for _, s := range u.Slots {
		if s.Own {
			return s, true
		}
	}
	return Slot{}, false
}

// Others returns the slots of other masters that count.
func (u Usage) Others() (others []Slot) {
	for _, s := range u.Slots {
		if !s.Own && !s.Lapsed {
			others = append(others, s)
		}
	}
	return others
}

// parseUsage reads a usage. Texts in it come from other masters.
func parseUsage(data []byte) (u Usage, err error) {
	var said struct {
		Usage
		Slots json.RawMessage `json:"slots"` // instead of the Usage's
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return Usage{}, fmt.Errorf("unexpected answer: %w", err)
	}

	u = said.Usage
	u.Slots, err = bounded.List[Slot](said.Slots, maxSlots)
	if errors.Is(err, bounded.ErrTooMany) {
		return Usage{}, fmt.Errorf("unexpected answer: more slots than a pool can have, %d", maxSlots)
	}
	if err != nil {
		return Usage{}, fmt.Errorf("unexpected answer: slots: %w", err)
	}
	if min(u.Allowed, u.Out, u.Forced) < 0 {
		return Usage{}, errors.New("unexpected answer: a negative number of masters")
	}

	for i := range u.Slots {
		s := &u.Slots[i]
		s.Master = text.Printable(s.Master, maxLabel)
		s.By = text.Printable(s.By, maxLabel)
		s.Reason = text.Printable(s.Reason, maxReason)
	}
	return u, nil
}

// TakenError says that as many masters are out as may be, and which.
type TakenError struct {
	Slots   []Slot // of other masters
	Allowed int
}

// Error names the masters: "puppet2 is out since 2026-11-24 15:04 (alice: kernel); 1 of 1".
func (e *TakenError) Error() string {
	var parts []string
	for _, s := range e.Slots {
		parts = append(parts, s.String())
	}
	parts = append(text.First(parts, 4), fmt.Sprintf("%d of %d", len(e.Slots), e.Allowed))
	return strings.Join(parts, "; ")
}

// Counts reports whether a hold on a service needs a slot. The budget counts masters, so a hold on a service
// beside the master needs none.
func Counts(service drain.Service) bool { return service.Covers(drain.Master) }
