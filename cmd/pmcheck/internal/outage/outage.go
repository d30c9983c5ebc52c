// Package outage lists when this master was held, by whom, why and for how long. The daemon
// logs the beginning and the end of each hold in systemd's journal; see the messages in
// package monitor.
package outage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// End says how an outage ended.
type End string

// The ends of an outage. One that has no end still lasts.
const (
	Lifted  End = "lifted"
	Expired End = "expired"
	// Unseen means that the hold ended at some time before Outage.Ended: while the daemon was
	// not running, or its log was lost.
	Unseen End = "unseen"
)

// Outage is a period in which one holder held this master or a service of it. It is the JSON
// shown by "pmcheck log --json". Texts in it come from the journal and from holds, and are
// not safe to print.
type Outage struct {
	Holder  string     `json:"holder"`
	Service string     `json:"service,omitempty"` // empty means every service
	Mode    drain.Mode `json:"mode"`              // the last one
	Reason  string     `json:"reason,omitempty"`
	By      string     `json:"by,omitempty"`    // the user who set the hold, also through sudo
	Owner   string     `json:"owner,omitempty"` // of the hold's file
	Error   string     `json:"error,omitempty"` // why the hold could not be read
	Since   time.Time  `json:"since"`           // by the clock as it was set at the end
	Until   time.Time  `json:"until,omitzero"`  // when the hold ends or would have ended by itself
	Ended   time.Time  `json:"ended,omitzero"`  // zero if it still lasts
	End     End        `json:"end,omitempty"`
	// Seconds is how long it has lasted; at most, if End is Unseen.
	Seconds float64 `json:"seconds"`

	claimed time.Time     // the beginning of the hold, by which its entries are found
	first   Entry         // the one that began it
	before  Entry         // it ended before this, if the hold is not found again; zero if unknown
	back    time.Duration // how far the clock was set back since then
}

// Entry is what the daemon has logged about a hold.
type Entry struct {
	Time  time.Time
	Boot  string        // the boot in which it was logged; empty if unknown
	Up    time.Duration // since that boot
	Event string        // a message of package monitor
	Hold  drain.Hold
}

// setBack returns how far the clock was set back between e and a later entry, as far as that
// is known: a boot has a clock of its own that nobody sets. It ignores a clock that was set
// forward, since that is what a virtual machine looks like that has been suspended.
func (e Entry) setBack(later Entry) time.Duration {
	back := later.Up - e.Up - later.Time.Sub(e.Time)
	if e.Boot == "" || e.Boot != later.Boot || back < time.Second { // journald reads the two one after the other
		return 0
	}
	return back
}

// Query says which outages to list.
type Query struct {
	Since   time.Time // outages that ended before are left out
	Service string    // outages of other services are left out; empty for all
	Last    int       // at most that many, the newest; 0 for all
}

// Collect returns the outages that entries record, in the order in which they began. The
// holds on disk show what the journal does not: whether an outage still lasts.
func Collect(entries []Entry, holds drain.Snapshot, now time.Time, q Query) []Outage {
	list := book{}
	for _, e := range entries {
		list.enter(e)
	}
	list.compare(holds, now)
	for _, o := range list {
		o.Since = o.Since.Add(-o.back)
		if o.End != "" && o.Ended.Before(o.Since) { // set back by a reboot
			o.Since = o.Ended
		}
	}
	list = slices.DeleteFunc(list, func(o *Outage) bool {
		other := q.Service != "" && o.Service != "" && o.Service != q.Service
		return other || o.End != "" && o.Ended.Before(q.Since)
	})
	slices.SortStableFunc(list, func(a, b *Outage) int { return a.Since.Compare(b.Since) })
	if q.Last > 0 {
		list = list[max(0, len(list)-q.Last):]
	}
	outages := []Outage{}
	for _, o := range list {
		o.Seconds = max(0, o.until(now).Sub(o.Since).Seconds())
		outages = append(outages, *o)
	}
	return outages
}

// CheckService returns an error if the daemon says that it has no such service, and list has
// no outage of it either. The error is that of [api.Status.ServiceOrError].
func CheckService(ctx context.Context, daemon api.Client, service string, list []Outage) error {
	if service == "" || slices.ContainsFunc(list, func(o Outage) bool { return o.Service == service }) {
		return nil
	}
	status, err := daemon.Ask(ctx)
	if err != nil {
		return nil
	}
	return status.Only(service)
}

// until returns the end of an outage, or now if it still lasts.
func (o *Outage) until(now time.Time) time.Time {
	if o.End == "" {
		return now
	}
	return o.Ended
}

// book is the outages so far.
type book []*Outage

func (b *book) enter(e Entry) {
	if e.Event == monitor.HoldsFound {
		for _, o := range *b {
			if o.End == "" && o.before.Time.IsZero() {
				o.before = e
			}
		}
		return
	}
	o := b.find(e.Hold)
	ended := o != nil && (o.End == Lifted || o.End == Expired)
	if ended && e.Event != monitor.HoldSet {
		return // logged again after a restart of the daemon
	}
	if o == nil || ended { // ended: set again within a second, or the clock is before its end again
		b.close(e)
		o = &Outage{Since: e.Time, first: e}
		if since := e.Hold.Since; !ended && !since.IsZero() && since.Before(e.Time) {
			o.Since = since
		}
		*b = append(*b, o)
	}
	o.take(e.Hold)
	o.before, o.back = Entry{}, o.first.setBack(e)
	switch e.Event {
	case monitor.HoldLifted:
		o.End, o.Ended = Lifted, e.Time
	case monitor.HoldExpired:
		o.End, o.Ended = Expired, e.Time
		if u := e.Hold.Until; u.Before(e.Time) && u.After(o.Since) {
			o.Ended = u
		}
	default:
		o.End, o.Ended = "", time.Time{}
	}
}

// find returns the outage of a hold, the last one if there are several, or nil.
func (b *book) find(h drain.Hold) *Outage {
	for _, o := range slices.Backward(*b) {
		if o.of(h) && o.claimed.Equal(h.Since) {
			return o
		}
	}
	return nil
}

// close ends the outages of the same holder and service: a holder has one at a time.
func (b *book) close(next Entry) {
	for _, o := range *b {
		if o.End == "" && o.of(next.Hold) {
			o.lose(next)
		}
	}
}

// of reports whether an outage is of the holder and the service of a hold.
func (o *Outage) of(h drain.Hold) bool { return o.Holder == h.Holder && o.Service == h.Service }

// lose ends an outage whose end was not logged.
func (o *Outage) lose(at Entry) {
	if !o.before.Time.IsZero() {
		at = o.before
	}
	o.End, o.Ended, o.back = Unseen, at.Time, o.first.setBack(at)
}

func (o *Outage) take(h drain.Hold) {
	o.Holder, o.Service, o.Mode = h.Holder, h.Service, h.Mode
	o.Reason, o.By, o.Owner, o.Error = h.Reason, h.By, h.Owner, h.Error
	o.Until, o.claimed = h.Until, h.Since
}

// compare ends the outages whose holds are gone, and adds the holds that were set while the
// daemon was not running. If the holds cannot be read, the journal alone counts.
func (b *book) compare(holds drain.Snapshot, now time.Time) {
	isDirectory := func(h drain.Hold) bool { return h.Holder == drain.Directory }
	readable := !slices.ContainsFunc(holds.Holds(), isDirectory)
	held := slices.DeleteFunc(holds.At(now).Holds(), func(h drain.Hold) bool {
		return !readable || h.Mode == drain.Ready
	})
	for _, o := range *b {
		if o.End != "" {
			continue
		}
		i := slices.IndexFunc(held, func(h drain.Hold) bool {
			return o.of(h) && o.claimed.Equal(h.Since.Truncate(time.Second))
		})
		switch {
		case i >= 0:
			o.Until = held[i].Until // may have moved
			held = slices.Delete(held, i, i+1)
		case readable || !o.before.Time.IsZero():
			o.lose(Entry{Time: now})
		}
	}
	for _, h := range held {
		o := &Outage{Since: cmp.Or(h.Since, now)}
		o.take(h)
		*b = append(*b, o)
	}
}
