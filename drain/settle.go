package drain

import "time"

// Settle recognizes the moment at which nothing has stood in the way for long
// enough. The zero value with After set is ready to use; it is not safe for
// concurrent use.
type Settle struct {
	After time.Duration
	since time.Time // when the way became clear; zero while it is not
}

// Observe takes in whether the way is clear now, and reports whether it has
// been clear for After.
func (s *Settle) Observe(clear bool, now time.Time) bool {
	switch {
	case !clear:
		s.since = time.Time{}
		return false
	case s.since.IsZero():
		s.since = now
	}
	return now.Sub(s.since) >= s.After
}
