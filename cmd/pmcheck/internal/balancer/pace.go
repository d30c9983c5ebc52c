package balancer

import "time"

const (
	// goneAfter is the shortest time without a check after which a balancer counts as
	// gone; a slow balancer is given three of its intervals.
	goneAfter = 10 * time.Second
	// unknownGoneAfter is the same for a client whose interval is not known: a client that
	// asked once, as AWS asks every 10 or 30 s, and HAProxy after a refusal.
	unknownGoneAfter = 100 * time.Second
	// downGoneAfter is the same for a balancer that has the master DOWN, and has not been seen to ask in that state.
	downGoneAfter = longestInterval + goneAfter
	// longestInterval bounds the interval that a balancer is believed to have. A client that asked twice, a day
	// apart, is not waited for all day.
	longestInterval = 5 * time.Minute
	// twinsFor is how long after checks that one HAProxy alone cannot have sent two are assumed.
	twinsFor = time.Minute
	// steadyPace is how much more often than usual one HAProxy may ask: its checks are at least its interval apart.
	steadyPace = 1.25
)

func (b *Balancer) gone(now time.Time) bool { return now.After(b.goneAt()) }

// goneAt returns until when a balancer that still asks has asked again.
func (b *Balancer) goneAt() time.Time {
	least := goneAfter
	isRefusedHAProxy := b.View != nil && b.Refused()
	switch {
	case b.HasDown() && b.DownInterval == 0:
		least = downGoneAfter
	case b.HasDown():
	case b.Checks < 2 || isRefusedHAProxy:
		least = unknownGoneAfter
	}
	return b.Seen.Add(max(least, 3*b.AsksEvery()))
}

// AsksEvery returns how often the balancer asks in the state in which it has the master now; 0 if that is not known.
func (b *Balancer) AsksEvery() time.Duration {
	if b.HasDown() {
		return seconds(b.DownInterval)
	}
	return seconds(b.Interval)
}

// HasDown reports whether the balancer has the master DOWN since the last answer, and asks at another pace, which
// HAProxy calls downinter. The view says so, or it says that this refusal was the last that HAProxy needed. A
// balancer without a view has the master DOWN once it has been refused as often as takes a master out.
func (b *Balancer) HasDown() bool {
	if !b.Refused() {
		return false
	}
	if b.View == nil {
		return b.Counts() && b.InARow(true) >= TellTimes
	}
	return b.View.State == "DOWN" || b.View.Step == 1
}

// fellSilent reports whether HAProxy took a refusal for the last that it needed, although its next check, which would
// say so, has not come: it is due after downinter. A downinter that is known and not long is waited for, because two
// checks that crossed show in that check.
func (b *Balancer) fellSilent(now time.Time) bool {
	least := max(goneAfter, seconds(3*b.Interval))
	if known := seconds(b.DownInterval); known <= unknownGoneAfter {
		least = max(least, known+goneAfter)
	}
	return b.HasDown() && now.Sub(b.Seen) > least
}

// Sends reports whether the balancer gives new sessions to this master, as far as is known. A balancer whose view
// cannot be read may do so until it has been refused often enough. If two HAProxies have the same name, one HAProxy
// may do so although the other HAProxy, which asked last, has the master out. Nothing is known of a balancer without a
// view.
func (b *Balancer) Sends(now time.Time) bool {
	if b.Unreadable {
		return b.InARow(true) < TellTimes
	}
	if b.View == nil {
		return false
	}
	if b.View.Sends() {
		return !b.fellSilent(now)
	}
	return b.areTwins(now) && now.Sub(b.UpSeen) <= goneAfter
}

// areTwins reports whether two HAProxies ask that have the same node, backend and address, as containers behind NAT
// may.
func (b *Balancer) areTwins(now time.Time) bool {
	return !b.Twins.IsZero() && now.Sub(b.Twins) < twinsFor
}

// measure takes the time since the last check into account. A balancer that may be slow may ask so rarely that it seems
// gone after its first check.
func (b *Balancer) measure(mayBeSlow bool, now time.Time) {
	gap := max(0, now.Sub(b.Seen)) // a daemon before may have had a clock that was ahead
	wasDown := b.HasDown()
	cameBack := b.Checks > 1 && b.gone(now)
	tooSlow := !mayBeSlow && !wasDown && gap > slowest
	if cameBack || tooSlow { // the gap says nothing of how often it asks
		b.Checks = 0
		b.Interval = 0
		b.DownInterval = 0
		return
	}

	switch {
	case b.Checks == 0:
	case wasDown:
		b.DownInterval = smooth(b.DownInterval, gap)
	default:
		b.Interval = smooth(b.Interval, gap)
	}
}

// smooth returns an interval in seconds, a moving average, after one more gap.
func smooth(interval float64, gap time.Duration) float64 {
	if interval == 0 {
		interval = gap.Seconds()
	}
	interval += (gap.Seconds() - interval) / 4
	return min(interval, longestInterval.Seconds())
}

// tellApart looks for what one HAProxy alone cannot do: it has the master fully UP after a refusal, or asks much sooner
// than it usually does. before is its previous view.
func (b *Balancer) tellApart(before, v *View, gap time.Duration, now time.Time) {
	isUp := func(v *View) bool { return v != nil && v.Sends() && v.Steps == 0 }
	if isUp(v) && b.Refused() {
		b.Twins = now
	}
	if isUp(v) && isUp(before) && b.pace.isUneven(gap, now) {
		b.Twins = now
	}
	if v.Sends() {
		b.UpSeen = now
	}
}

// A pace is how often a server that is UP is checked. HAProxy waits for its interval after each answer, so no check
// comes sooner than that.
type pace struct {
	usual    float64       // in seconds, a moving average
	shortest time.Duration // the shortest gap within twinsFor
	at       time.Time     // when that was
}

// isUneven adds a gap, and reports whether others have been much shorter. A single check that is late is no sign.
func (p *pace) isUneven(gap time.Duration, now time.Time) bool {
	if p.shortest == 0 || gap < p.shortest || now.Sub(p.at) > twinsFor {
		*p = pace{usual: gap.Seconds(), shortest: gap, at: now}
		return false
	}
	p.usual = smooth(p.usual, min(gap, 2*p.shortest))
	return p.usual > steadyPace*p.shortest.Seconds()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
