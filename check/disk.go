package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Disk looks at the space that Puppet Server needs. With none left it answers
// every agent with status 500, because the agent's facts cannot be stored,
// and says running all the while. Set the fields before the first Check; not
// safe for concurrent use.
type Disk struct {
	// Paths are directories that the server writes to. One without space, or
	// on a file system that is read-only, makes the master unhealthy.
	Paths []string
	// Reads are directories that it only reads, such as the code: without
	// space a deployment fails, which is worth a warning, and a file system
	// that is read-only may be meant so.
	Reads []string
	// WarnPercent is the share of free space, and of free inodes, below which
	// somebody should look; 0 is never.
	WarnPercent int
	// EjectMiB is the free space below which a disk is full, or 5% of the file
	// system if that is less, lest a small one be full from the start; 0 is
	// never. Without inodes it is full in any case.
	EjectMiB int

	places []*place
}

// place is one directory to look at.
type place struct {
	path    string
	written bool
	aside   aside[glance]
}

// glance is what one look at a place found.
type glance struct {
	volume
	err error
}

// Check looks once. A path that cannot be looked at, or not before ctx ends,
// is unknown and never held against the master; nor is it that there is none.
// Where several paths are on one file system, it is judged by the first.
func (d *Disk) Check(ctx context.Context) Finding {
	found := Finding{
		Check: CheckDisk, State: StateOK, Reason: OK, Checked: time.Now(),
		Threshold: fmt.Sprintf("%d%%, %d MiB", d.WarnPercent, d.EjectMiB),
	}
	var values, unknown []string
	seen := map[uint64]bool{}
	for i, g := range d.look(ctx) {
		p := d.places[i]
		if g.err != nil {
			unknown = append(unknown, g.err.Error())
			continue
		}
		if seen[g.device] {
			continue
		}
		seen[g.device] = true
		values = append(values, p.path+" "+g.volume.String())
		if f := d.judge(p, g.volume); graver(f.State, found.State) {
			found.State, found.Health, found.Reason, found.Detail = f.State, f.Health, f.Reason, f.Detail
		}
	}
	if len(d.places) == 0 {
		unknown = []string{"there is nothing to look at: neither disk.paths nor Puppet names a directory"}
	}
	found.Value = strings.Join(values, ", ")
	if len(unknown) > 0 && found.State == StateOK {
		found.State, found.Reason, found.Detail = StateNone, NotKnown, strings.Join(unknown, "; ")
	}
	return found
}

// look looks at all places at the same time: one that hangs delays no other.
func (d *Disk) look(ctx context.Context) []glance {
	if d.places == nil {
		d.places = d.list()
	}
	glances := make([]glance, len(d.places))
	var all sync.WaitGroup
	for i, p := range d.places {
		all.Go(func() {
			g, err := p.aside.do(ctx, func() glance {
				v, err := statVolume(p.path)
				return glance{v, err}
			})
			if err != nil {
				g.err = fmt.Errorf("%s: the file system does not answer: %w", p.path, err)
			}
			glances[i] = g
		})
	}
	all.Wait()
	return glances
}

// list makes a place of each path, those that are written to first.
func (d *Disk) list() []*place {
	places := []*place{}
	for i, path := range slices.Concat(d.Paths, d.Reads) {
		if !slices.ContainsFunc(places, func(p *place) bool { return p.path == path }) {
			places = append(places, &place{path: path, written: i < len(d.Paths)})
		}
	}
	return places
}

func (d *Disk) judge(p *place, v volume) Finding {
	full := v.full(d.EjectMiB)
	switch {
	case full != "" && p.written:
		return Finding{State: StateBad, Health: Unhealthy, Reason: DiskFull, Detail: p.path + ": " + full + ": agents are answered with status 500"}
	case v.readOnly && p.written:
		return Finding{State: StateBad, Health: Unhealthy, Reason: DiskFull, Detail: p.path + ": the file system is read-only: agents are answered with status 500"}
	case full != "":
		return Finding{State: StateWarn, Reason: DiskFull, Detail: p.path + ": " + full}
	case percent(v.free, v.size) < d.WarnPercent || v.inodes > 0 && percent(v.freeInodes, v.inodes) < d.WarnPercent:
		return Finding{State: StateWarn, Reason: DiskLow, Detail: p.path + ": " + v.String()}
	}
	return Finding{State: StateOK}
}

// graver reports whether a says worse than b. Unknown is no worse than well.
func graver(a, b State) bool {
	return a == StateBad && b != StateBad || a == StateWarn && b != StateBad && b != StateWarn
}
