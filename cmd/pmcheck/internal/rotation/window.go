package rotation

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
)

const (
	// maxWindows is how many windows a fleet has at most: with more masters, two share one.
	maxWindows = 12
	// drawn is the number of windows among which a master without one of its own draws, and
	// maxDrawn that number after several collisions.
	drawn, maxDrawn = 8, 64
	// maxRounds is the number of its own windows among which a master draws after several
	// collisions, because another master has the same window.
	maxRounds = 4
)

// Windows is how the masters of a pool share the time. Each leaves only at the beginning
// of a window, and a window is long enough for the balancers to tell all other masters.
// The clock of the host divides the time, so masters agree without talking.
type Windows struct {
	// Length is 0 if no balancer sends its view, and no gate runs: there would be nothing
	// to see.
	Length time.Duration
	// Late is how long after its beginning a window may be used.
	Late time.Duration
	// Own is the index of this master's window among Count; if Count is 0, it draws one.
	Own, Count int
}

// windowsOf returns the windows for a master with these names.
func windowsOf(s api.Status, service string, names []string) (windows Windows) {
	windows.Own, windows.Count = ownWindow(s, names)
	for _, b := range sendingHere(s, service) {
		unit := bucket(b.Interval)
		length := unit * 5 / 2 // one check tells the balancer, the next one the others
		if b.DrainCode >= 400 && b.DrainCode != http.StatusNotFound {
			length += (balancer.TellTimes - 1) * unit
		}
		if length > windows.Length {
			windows.Length, windows.Late = length, unit/4
		}
	}
	if fleetTells(s) && s.Others.Members() > 0 && windows.Length < othersWindow {
		windows.Length, windows.Late = othersWindow, othersLate
	}
	return windows
}

// bucket rounds an interval in seconds up, so that masters that measure it agree. The
// buckets are a fifth longer than HAProxy's usual intervals. No interval that people choose
// may be at an edge: what masters measure differs by some milliseconds.
func bucket(interval float64) time.Duration {
	measured := api.Seconds(interval)
	for _, b := range []time.Duration{1300 * time.Millisecond, 2400 * time.Millisecond, 6500 * time.Millisecond,
		13 * time.Second} {
		if measured <= b {
			return b
		}
	}
	b := 36 * time.Second
	for b < measured {
		b *= 2
	}
	return b
}

// ownWindow returns the place of a master with these names in the sorted fleet; count is 0 if
// the master is not found there, or is alone.
func ownWindow(s api.Status, names []string) (own, count int) {
	hosts, own := ownPlace(s, names)
	if own < 0 || len(hosts) < 2 {
		return 0, 0
	}
	count = min(len(hosts), maxWindows)
	return own % count, count
}

// Unlisted reports whether a fleet does not list the master, which also has these names. It
// has no window of its own then.
func Unlisted(s api.Status, names []string) bool {
	hosts, own := ownPlace(s, names)
	return own < 0 && len(hosts) > 0
}

// ownPlace returns the hosts of the fleet, sorted, and the index of the master with these
// names, or -1.
func ownPlace(s api.Status, names []string) (hosts []string, own int) {
	for _, member := range s.Fleet {
		hosts = append(hosts, api.HostOf(member))
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	names = append([]string{s.Certname}, names...)
	own = place(hosts, names, func(a, b string) bool { return a == b })
	if own < 0 && s.Others != nil && s.Others.Own != "" { // an alias
		own = slices.Index(hosts, api.HostOf(s.Others.Own))
	}
	if own < 0 {
		own = place(hosts, names, api.SameHost)
		// Two domains may have a host of that name.
		if own >= 0 && (place(hosts[own+1:], names, api.SameHost) >= 0 || isOther(s, hosts[own])) {
			own = -1
		}
	}
	return hosts, own
}

// isOther reports whether the daemon has found that a host of the fleet is another master.
func isOther(s api.Status, host string) bool {
	return s.Others != nil && slices.ContainsFunc(slices.Concat(s.Others.Serving, s.Others.Out, s.Others.Unknown),
		func(member string) bool { return api.HostOf(member) == host })
}

// place returns the index of the first host that has one of the names, or -1.
func place(hosts, names []string, same func(a, b string) bool) int {
	return slices.IndexFunc(hosts, func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return same(host, strings.ToLower(name)) })
	})
}

// Begin returns when the window begins in which the master may leave, not before from.
// Without a window of its own the master draws one; each earlier try doubles the range.
// A master that has collided in its own window shares it, and draws one of the next ones.
func (s Windows) Begin(from time.Time, tries int, draw func(n int) int) time.Time {
	length := int64(s.Length)
	window := (from.UnixNano() + length - 1) / length
	if s.Count == 0 {
		window += int64(draw(min(drawn<<min(tries, 8), maxDrawn)))
	} else {
		ahead := (int64(s.Own) - window) % int64(s.Count)
		if ahead < 0 {
			ahead += int64(s.Count)
		}
		window += ahead + int64(s.Count*draw(min(1<<min(tries, 8), maxRounds)))
	}
	return time.Unix(0, window*length)
}
