package drain

import (
	"os/user"
	"strconv"
	"sync"
	"time"
)

// Store is the two directories of holds. Its methods are safe for concurrent
// use, also by several processes; the fields must not change after the first
// call, and a Store must not be copied.
type Store struct {
	Persistent  string // the directory whose holds survive a reboot; required
	UntilReboot string // the directory whose holds end with a reboot; required
	// LockWait is how long Put, Lift and LiftAll wait for another process that
	// is writing. Zero means 5 s.
	LockWait time.Duration
	Now      func() time.Time // the wall clock; nil means [time.Now]

	owners  sync.Map // user id to name: asking a directory service may be slow
	scanned func()   // for tests: called after each scan that Read makes of a directory
}

// place is one of a store's directories.
type place struct {
	dir         string
	untilReboot bool
}

func (s *Store) places() []place {
	return []place{{dir: s.UntilReboot, untilReboot: true}, {dir: s.Persistent}}
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// owner returns the name of the user with this id. Root needs no lookup, so the
// common case cannot wait for a directory service.
func (s *Store) owner(uid uint32) string {
	if uid == 0 {
		return "root"
	}
	if name, ok := s.owners.Load(uid); ok {
		return name.(string)
	}
	id := strconv.FormatUint(uint64(uid), 10)
	name := "uid " + id
	if u, err := user.LookupId(id); err == nil {
		name = oneLine(u.Username)
	}
	s.owners.Store(uid, name)
	return name
}
