package drain

import "time"

// SetInterval sets how often Run reads the directories without an event.
func (w *Watcher) SetInterval(d time.Duration) { w.every = d }

// SetLockWait sets how long a writer waits for another.
func (s *Store) SetLockWait(d time.Duration) { s.lockWait = d }

// SetLimit sets how long an operation on a directory may take.
func (s *Store) SetLimit(d time.Duration) { s.limit = d }

// SetEntered makes each operation on a directory call f first.
func (s *Store) SetEntered(f func(dir string)) { s.entered = f }

// SetScanned makes Read call f after each scan of a directory, but not after the scans
// that f causes itself.
func (s *Store) SetScanned(f func()) {
	busy := false
	s.scanned = func(string) {
		if !busy {
			busy = true
			f()
			busy = false
		}
	}
}

var (
	Parse     = parse
	SplitName = splitName
	FileName  = fileName
)

func (h Hold) Encode() ([]byte, error) { return h.encode() }
