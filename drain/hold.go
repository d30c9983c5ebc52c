package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names of holders with a special meaning.
const (
	// Operator is the holder that commands use when none is named.
	Operator = "operator"
	// Guard is the holder of the guard's hold while the service stops, and Reload while it reloads.
	Guard  = "guard"
	Reload = "reload"
	// Directory is the holder of the hold that stands for a holds directory
	// which cannot be trusted or read, or which has taken the place of another directory.
	Directory = "directory"
)

// Unreadable is the [Hold.Code] of a hold that stands for something on disk
// that cannot be read. Such a hold has mode [Maint].
const Unreadable = "hold-unreadable"

// Leaving says what a hold waits for before balancers are told of it. A work that makes the master
// unfit may begin once the hold is firm. A file with any other value, as of a later version, cannot be read: it counts
// as [Maint], firm. Whatever a later version adds must be written as one of these.
type Leaving string

// The values of [Hold.Leaving], from the least to the most patient.
const (
	// Firm waits for nobody: every balancer is told.
	Firm Leaving = ""
	// LeavingBesideSpare tells a balancer only while that has another server.
	LeavingBesideSpare Leaving = "spare"
	// LeavingWithSlot tells one balancer after the other, each only while that has another server: a budget has counted
	// the masters that are out.
	LeavingWithSlot Leaving = "slot"
	// LeavingInTurn tells a balancer only while that can also do without this master beside the others
	// that are out.
	LeavingInTurn Leaving = "turn"
	// LeavingByView tells balancers in turn, and none that does not send its view. No file says so: it is what a directory
	// counts as that cannot be read.
	LeavingByView Leaving = "view"
)

// patience orders the values. It is negative for any other text, which is the least patient.
func (l Leaving) patience() int {
	return slices.Index([]Leaving{Firm, LeavingBesideSpare, LeavingWithSlot, LeavingInTurn, LeavingByView}, l)
}

// Hold is one party's wish for drain or maint. It is the JSON shown by
// "pmcheck status --json"; the file on disk has fewer fields, see
// pmcheck-holds(5). Holds are plain values and comparable with ==; times are UTC.
type Hold struct {
	// Holder is the name of the holder, from the file's name. It is the whole name without
	// ".json" when that does not follow the rules for names.
	Holder  string  `json:"holder"`
	Service Service `json:"service,omitempty"` // from the file's name
	Mode    Mode    `json:"mode"`              // what the holder wants
	// Leaving is what the hold waits for; empty, which is [Firm], once the holder's work has begun.
	Leaving Leaving `json:"leaving,omitempty"`
	Reason  string  `json:"reason,omitempty"` // in words, on one line
	By      string  `json:"by,omitempty"`     // the user who set the hold, as the file says
	// Since is when the holder set the hold, or when the file was last written
	// if it does not say. Zero when there is no file.
	Since time.Time `json:"since,omitzero"`
	// Until is when the hold ends by itself; the zero time means never.
	Until time.Time `json:"until,omitzero"`
	// UntilReboot says that the hold is in the directory which a reboot empties.
	UntilReboot bool `json:"until_reboot"`
	// Path is the file, or the directory that could not be read.
	Path string `json:"path,omitempty"`
	// Code is empty for a hold that was read, and hold-unreadable, which is [Unreadable], otherwise.
	Code string `json:"code,omitempty"`
	// Error says in words why the hold is unreadable and, for a directory, what
	// to do about it.
	Error string `json:"error,omitempty"`
}

// InEffect reports whether h counts at now: it has no end, or its end is in the future
// by the wall clock. If the clock is set back to before the end, h counts again.
func (h Hold) InEffect(now time.Time) bool {
	return h.Until.IsZero() || now.Before(h.Until)
}

// Covers reports whether h concerns service.
func (h Hold) Covers(service Service) bool { return h.Service.Covers(service) }

// String describes h on one line. It may contain any text, as the name of a file may.
func (h Hold) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", h.Mode, h.Holder)

	if h.Leaving != Firm {
		b.WriteString(", leaving")
	}
	if h.Service != EveryService {
		fmt.Fprintf(&b, " on %s", h.Service)
	}
	if h.By != "" {
		fmt.Fprintf(&b, " (%s)", h.By)
	}
	if h.Reason != "" {
		fmt.Fprintf(&b, ": %s", h.Reason)
	}
	if h.Code != "" {
		fmt.Fprintf(&b, ": %s: %s: %s", h.Code, h.Path, h.Error)
	}

	b.WriteString(h.end())
	return b.String()
}

// end says when the hold ends by itself. Of an unreadable hold that is not known.
func (h Hold) end() string {
	if !h.Until.IsZero() {
		end := h.Until.Local().Format(", until 2006-01-02 15:04:05 MST")
		if h.UntilReboot {
			end += " or reboot"
		}
		return end
	}

	if h.UntilReboot {
		return ", until reboot"
	}
	if h.Code == "" {
		return ", no end"
	}
	return ""
}

const suffix = ".json"

// fileName is the inverse of splitName.
func fileName(holder string, service Service) string {
	if service != EveryService {
		holder += "@" + string(service)
	}
	return holder + suffix
}

// splitName returns the holder and service in a file's name. On an error the
// whole stem is the holder: the file concerns every service, and can still be
// lifted by name.
func splitName(file string) (holder string, service Service, err error) {
	stem := strings.TrimSuffix(file, suffix)
	holder, name, hasService := strings.Cut(stem, "@")
	err = CheckName(holder)
	if err == nil && hasService {
		err = CheckName(name)
	}
	if err != nil {
		return stem, EveryService, err
	}
	return holder, Service(name), nil
}

// CheckName returns an error unless name can name a holder or a service: 1 to
// 64 of the characters a-z, 0-9, dot, underscore and hyphen, the first of them
// a letter or a digit.
func CheckName(name string) error {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	fits := name != "" && len(name) <= 64
	if !fits || !strings.Contains(first, name[:1]) || strings.Trim(name, first+"._-") != "" {
		return fmt.Errorf("name %q: want 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit", name)
	}
	return nil
}

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
