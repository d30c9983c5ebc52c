package drain

import "time"

// Settle recognizes the moment at which a condition has held for long enough. The
// zero value with After set is ready to use; it is not safe for concurrent use.
type Settle struct {
	After time.Duration
	since time.Time // when the condition began to hold; zero while it does not
}

// Observe records whether the condition holds now, and reports whether it has held
// for at least After.
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
