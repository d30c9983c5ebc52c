package drain

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// maxPasses bounds how often the directories are read again because they change.
const maxPasses = 10

// view is what one scan of a directory found.
type view struct {
	place
	id      identity // zero if the directory could not be opened
	changed unix.Timespec
	holds   []Hold
	err     error // why there may be more holds
}

// equal reports whether nothing was added, removed or changed between two scans.
func (v view) equal(other view) bool {
	return v.id == other.id && v.changed == other.changed && slices.Equal(v.holds, other.holds)
}

// look scans all directories until two passes in a row are equal, and returns the last
// views and all holds. The views of the look before, if there was one, are the first pass.
//
// It takes no lock, because a slow disk or another user could keep it locked. But Put
// moves a hold by writing one directory and then removing from the other, and scans of
// them in turn could miss both files; a file that is replaced during a scan may not be
// listed at all. In neither case are two passes equal. If the directories keep changing,
// a hold that one pass saw and the last did not counts too: it may just be moving.
func (s *Store) look(last []view) ([]view, []Hold) {
	seen := make(map[string]Hold) // by path
	for range maxPasses {
		next := s.pass()
		atRest := slices.EqualFunc(last, next, view.equal)
		if atRest {
			clear(seen)
		}
		for _, v := range next {
			for _, h := range v.holds {
				seen[h.Path] = h
			}
		}
		last = next
		if atRest {
			break
		}
	}
	return last, slices.Collect(maps.Values(seen))
}

// pass scans every directory once.
func (s *Store) pass() (views []view) {
	for _, p := range s.places() {
		views = append(views, s.scan(p, maxEntries))
		if s.scanned != nil {
			s.scanned()
		}
	}
	return views
}

// identity distinguishes directories, including those that had the same path one after
// the other. A file system may give a new directory the inode number of the one just
// removed, but not its handle.
type identity struct {
	device, inode uint64
	handle        string // empty where the file system has none
}
