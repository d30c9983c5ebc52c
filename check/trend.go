package check

import (
	"slices"
	"time"
)

// The size of a trend: a point covers ten looks, and a forecast needs twelve points. With
// a look each minute that is a point every 10 minutes, a forecast after two hours, and a
// memory of a day.
const (
	looksPerPoint = 10
	minPoints     = 12
	maxPoints     = 144
)

// trend estimates how something grows. The zero value is ready to use.
type trend struct {
	points []point // oldest first
}

// point is the lowest value of some looks.
type point struct {
	began time.Duration // when its looks began
	at    time.Duration
	value float64
}

// add adds a look at the given time, which must not be before the last one. Looks within
// one width form a point.
func (t *trend) add(at time.Duration, value float64, width time.Duration) {
	if n := len(t.points); n > 0 && at-t.points[n-1].began < width {
		if last := &t.points[n-1]; value <= last.value {
			last.at, last.value = at, value
		}
		return
	}
	if len(t.points) == maxPoints {
		t.points = slices.Delete(t.points, 0, 1)
	}
	t.points = append(t.points, point{at, at, value})
}

// full returns how long it takes until the limit is reached at the present growth. It
// returns false if the value does not grow, or if there are too few points to tell.
//
// A forecast reaches no further than three times the time that has been seen: what has
// grown for two hours may end to grow in the third. The later half must have grown as the
// whole has, because a server grows for a while after its start and then stays as it is.
func (t *trend) full(limit float64) (time.Duration, bool) {
	n := len(t.points)
	if n < minPoints {
		return 0, false
	}
	first, last := t.points[0], t.points[n-1]
	growth := min(slope(t.points), slope(t.points[n/2:])) // a second
	seen := last.at - first.at
	if growth*seen.Seconds() < limit/20 { // not worth a warning
		return 0, false
	}
	if last.value >= limit {
		return 0, true
	}
	seconds := (limit - last.value) / growth
	return time.Duration(seconds * float64(time.Second)), seconds <= 3*seen.Seconds()
}

// slope returns the median of the slopes between all pairs of points (Theil and Sen),
// which a few points that lie elsewhere do not change.
func slope(points []point) float64 {
	var slopes []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			slopes = append(slopes, (b.value-a.value)/(b.at-a.at).Seconds())
		}
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}
