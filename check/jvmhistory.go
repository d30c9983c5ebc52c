package check

import (
	"cmp"
	"slices"
	"time"
)

// jvmHistory is what successive looks at a JVM show together. The zero value is ready
// to use.
type jvmHistory struct {
	looks []*JVM // the last ones, oldest first
	// peak is the most that the old generation has held since it last began to grow.
	peak uint64
	lows []uint64 // what the last three collections left of it
	// These trends have the JVM's uptime as their time.
	old, metaspace, classes trend
}

// How many of the last looks are kept, and how many of these span the time of which
// JVM.GCShare is the share.
const (
	keptLooks  = 15
	shareLooks = 3
)

// add adds a look, and completes it with what follows from the earlier ones. interval is
// the time between two looks. A JVM that has been restarted has no earlier ones.
func (h *jvmHistory) add(j *JVM, interval time.Duration) {
	if n := len(h.looks); n > 0 && j.up < h.looks[n-1].up {
		*h = jvmHistory{}
	}
	if h.collected(j) {
		h.lows = last(append(h.lows, j.OldUsed), 3)
		h.old.add(j.up, float64(j.OldUsed), looksPerPoint*interval)
	}
	h.metaspace.add(j.up, j.metaspace.used, looksPerPoint*interval)
	h.classes.add(j.up, j.classes.used, looksPerPoint*interval)
	h.looks = last(append(h.looks, j), keptLooks)

	if len(h.lows) == 3 {
		j.OldAfterGC = slices.Min(h.lows)
	}
	j.OldAfterGC = max(j.OldAfterGC, h.packed())
	since := &JVM{} // the start
	if h.settled() {
		since = last(h.looks, shareLooks)[0]
	}
	j.GCShare = min(1, max(0, j.GCSeconds-since.GCSeconds)/(j.up-since.up).Seconds())
}

// last returns the last n items of a list, or all of it.
func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// settled reports whether the last looks span enough time to say how much of it goes
// into garbage collection.
func (h *jvmHistory) settled() bool {
	recent := last(h.looks, shareLooks)
	return len(recent) == shareLooks && recent[shareLooks-1].up > recent[0].up
}

// packed returns the least that G1 has left of the old generation in all the looks that
// are kept, if that is 90% of its limit or more and there was a collection for each look;
// otherwise 0. G1 begins to collect parts of it below 90%, so what remains is in use.
func (h *jvmHistory) packed() uint64 {
	first, now := h.looks[0], h.looks[len(h.looks)-1]
	if len(h.looks) < keptLooks || now.partGCs-first.partGCs < keptLooks {
		return 0
	}
	least := slices.MinFunc(h.looks, func(a, b *JVM) int { return cmp.Compare(a.OldUsed, b.OldUsed) })
	if percent(least.OldUsed, now.OldMax) < 90 {
		return 0
	}
	return least.OldUsed
}

// collected reports whether the old generation has been collected since the last look,
// so that little of what it holds is garbage: it was collected as a whole, or has lost
// 5% of its limit, which is how much G1 leaves uncollected at most. In between it holds
// garbage, up to its limit.
func (h *jvmHistory) collected(j *JVM) bool {
	if j.OldMax == 0 || len(h.looks) == 0 {
		h.peak = j.OldUsed
		return false
	}
	before := h.looks[len(h.looks)-1]
	if j.OldUsed > before.OldUsed {
		h.peak = j.OldUsed
	}
	return j.fullGCs > before.fullGCs || j.OldUsed < before.OldUsed && h.peak-j.OldUsed >= j.OldMax/20
}

// metaspaceEnd returns what becomes of the metaspace, or of the compressed class space,
// and when; grows is false if neither grows. A metaspace without a limit is said to
// double.
func (h *jvmHistory) metaspaceEnd(j *JVM) (what string, in time.Duration, grows bool) {
	limit, what := j.metaspace.limit, "full"
	if limit == 0 && len(h.metaspace.points) > 0 {
		limit, what = 2*h.metaspace.points[0].value, "twice what it was"
	}
	in, grows = h.metaspace.full(limit)
	if j.classes.limit == 0 {
		return what, in, grows
	}
	if full, fills := h.classes.full(j.classes.limit); fills && (!grows || full < in) {
		return "the compressed class space is full", full, true
	}
	return what, in, grows
}
