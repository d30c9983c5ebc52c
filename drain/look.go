package drain

import (
	"slices"

	"golang.org/x/sys/unix"
)

// maxPasses bounds how often reading begins again since the directories change.
const maxPasses = 10

// view is what one directory said in one scan.
type view struct {
	place
	id      identity // zero if the directory could not be opened
	changed unix.Timespec
	marked  bool // the marker is there
	holds   []Hold
	err     error // why there may be more holds
}

// equal reports whether nothing came, went or changed between two scans.
func (v view) equal(other view) bool {
	return v.id == other.id && v.changed == other.changed && slices.Equal(v.holds, other.holds)
}

// look scans all directories until they say the same twice in a row, and
// returns the last views and all holds.
//
// It takes no lock, which a slow disk or another user could keep. But Put moves
// a hold by writing one directory and then removing from the other, and scans
// of them in turn could miss both; a file that is replaced during a scan may
// not be listed at all. Neither is the same twice. If the directories never
// come to rest, a hold which one pass saw and the last did not counts too: it
// may have been on the move.
func (s *Store) look() ([]view, []Hold) {
	seen := make(map[string]Hold)
	last := s.pass(seen)
	for range maxPasses - 1 {
		next := s.pass(seen)
		if slices.EqualFunc(last, next, view.equal) {
			clear(seen)
			last = next
			break
		}
		last = next
	}
	var holds []Hold
	for _, v := range last {
		holds = append(holds, v.holds...)
		for _, h := range v.holds {
			delete(seen, h.Path)
		}
	}
	for _, h := range seen {
		holds = append(holds, h)
	}
	return last, holds
}

// pass scans every directory once, and notes the holds in seen by their path.
func (s *Store) pass(seen map[string]Hold) []view {
	var views []view
	for _, p := range s.places() {
		v := s.scan(p, maxEntries)
		for _, h := range v.holds {
			seen[h.Path] = h
		}
		views = append(views, v)
		if s.scanned != nil {
			s.scanned()
		}
	}
	return views
}

// identity tells directories apart, also those that had the same path one after
// the other. A file system may give a new directory the inode number of the one
// just removed, but not its handle.
type identity struct {
	device, inode uint64
	handle        string // empty where the file system has none
}
