package balancer_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// What should never be.
const (
	inSpite     = "a pool has no server in spite of the turn backend"
	unexplained = "a pool has no server, and no checks crossed at the first balancer"
	tooMany     = "more masters are firm than may be out"
	tooLate     = "a master is not out within the bound"
	tooLong     = "a pool has had no server for longer than an interval"
)

// A watch sees what happens in a schedule.
type watch struct {
	crossings int                        // pairs of checks under way together that took out two masters
	empty     map[*backend]time.Duration // pools without a server, since when
	outages   int
	longest   time.Duration // of the outages
	exit      time.Duration // the longest time from a hold to the work
	broken    string        // what should never be, the first
}

// changed is called with each answer that a process gets.
func (w *watch) changed(s *schedule, p *process, b *backend, n int, before haproxy.State, x exchange) {
	now := b.Servers[n].State()
	switch {
	case now == before:
		return
	case now == haproxy.Up:
		b.exits[n] = exchange{}
		b.crossed = b.crossed && len(b.Used()) < s.size
	case before == haproxy.Up:
		b.exits[n] = x
		w.cross(s, b, n)
	}

	began, isEmpty := w.empty[b]
	switch used := len(b.Used()); {
	case b != p.pool():
	case used == 0 && !isEmpty:
		w.begins(s, b)
	case used > 0 && isEmpty:
		s.tell("         %s/%s has a server again", p.node, b.Name)
		w.longest = max(w.longest, s.now-began)
		delete(w.empty, b)
	}
}

// cross notes whether the check that took a master out was under way together with one that took another out.
func (w *watch) cross(s *schedule, b *backend, n int) {
	x := b.exits[n]
	for i, o := range b.exits {
		if i != n && o.got > x.sent {
			w.crossings++
			b.crossed = true
			s.tell("         these checks of %s and %s crossed", s.masters[i].name, s.masters[n].name)
		}
	}
}

// begins notes that a pool has no server.
func (w *watch) begins(s *schedule, b *backend) {
	if w.empty == nil {
		w.empty = map[*backend]time.Duration{}
	}
	w.empty[b] = s.now
	w.outages++
	s.tell("         %s/%s HAS NO SERVER", b.Node, b.Name)
	switch {
	case s.turn != nil:
		w.never(s, inSpite)
	case !s.balancers[0].pool().crossed:
		w.never(s, unexplained)
	}
}

// firm is called when the work of a master begins.
func (w *watch) firm(s *schedule, m *master) {
	w.exit = max(w.exit, s.now-m.held)
	firm := 0
	for _, o := range s.masters {
		if o.mode != drain.Ready && o.leaving == drain.Firm {
			firm++
		}
	}
	if firm > maxOut {
		w.never(s, tooMany)
	}
}

func (w *watch) never(s *schedule, what string) {
	s.tell("         NEVER: %s", what)
	w.broken = cmp.Or(w.broken, what)
}

// ends is called when a process is replaced.
func (w *watch) ends(p *process) {
	p.ended = true
	delete(w.empty, p.pool())
}

// enough is the number of crossings after which a schedule ends: by chance, two masters may cross again and again.
const enough = 20

// over reports whether all masters have left and are back.
func (w *watch) over(s *schedule) bool {
	if w.crossings >= enough {
		return true
	}
	if s.now > s.hold+s.bound() {
		w.never(s, tooLate)
		return true
	}
	for _, m := range s.masters {
		if !m.done || m.mode != drain.Ready {
			return false
		}
	}
	if len(w.empty) > 0 {
		return false
	}
	if w.longest > s.heals() {
		w.never(s, tooLong)
	}
	return true
}

// heals is the longest time for which checks that crossed leave a pool without a server: until the next answer,
// or as many as HAProxy wants of a server that is DOWN.
func (sp *space) heals() time.Duration {
	if sp.DisableOn404 {
		return sp.period()
	}
	return time.Duration(sp.Rise) * sp.period()
}

// bound is within which time of the first hold the last master is back. Masters leave one after the other. Each
// needs a few checks of each backend: one that lets it off, those that are refused, and one that shows that it is
// out; the next one sees it back in two. A crossing, or a disturbance, costs one more such time.
func (s *schedule) bound() time.Duration {
	const shift = 250 * time.Millisecond
	refused, back := 1, 3
	if !s.DisableOn404 {
		refused, back = s.Fall, s.Rise+2
	}
	out := time.Duration(2+refused)*s.period() + shift
	if s.turn != nil {
		out += time.Duration(2+refused)*(s.turn.Inter+s.turn.RoundTrip) + shift
	}
	out = out*time.Duration(s.processes) + time.Duration(back)*s.period()
	leaves := s.size * (1 + s.again)
	bound := time.Duration(leaves+s.crossings)*out + time.Duration(leaves)*s.work + s.apart
	if n := s.disturbed(); n > 0 {
		bound += time.Duration(n) * (out + s.period())
		bound += max(s.lifts, s.restarts, s.reloads, s.dies) // they begin so late
	}
	if s.dies > 0 {
		bound += deadFor
	}
	if len(s.slow) > 0 {
		bound += slices.Max(s.slow)
	}
	return bound
}

func (sp *space) disturbed() (n int) {
	for _, within := range []time.Duration{sp.lifts, sp.restarts, sp.reloads, sp.dies} {
		if within > 0 {
			n++
		}
	}
	return n + min(1, len(sp.slow))
}

// A finding is what the schedules of a space have shown.
type finding struct {
	schedules int
	share     float64 // of those with a moment without a server, if each answer to a question is as likely
	longest   time.Duration
	exit      time.Duration
	crossed   float64        // the share of those with checks that crossed, in any backend
	broken    map[string]int // how many schedules have shown what should never be
	story     string         // of the first of them
}

// explore runs the schedules of a space.
func (sp *space) explore() finding {
	found := finding{broken: map[string]int{}}
	c := &choices{space: sp}
	for more := true; more; {
		if sp.samples > 0 {
			c.draw(uint64(found.schedules))
		}
		s := sp.run(c, nil)
		found.add(s)
		if s.broken != "" && found.story == "" {
			found.story = sp.story(c)
		}
		more = found.schedules < sp.samples || sp.samples == 0 && c.next()
	}
	return found
}

func (f *finding) add(s *schedule) {
	f.schedules++
	if s.outages > 0 {
		f.share += s.likely()
	}
	if s.crossings > 0 {
		f.crossed += s.likely()
	}
	if s.broken != "" {
		f.broken[s.broken]++
	}
	f.longest, f.exit = max(f.longest, s.longest), max(f.exit, s.exit)
}

// story runs a schedule again, and returns its time line.
func (sp *space) story(c *choices) string {
	story := new(strings.Builder)
	c.rewind()
	sp.run(c, story)
	return story.String()
}

// TestEverySchedule: whatever the phases of HAProxy's checks, the moments of the holds, the random delays and the
// order of simultaneous events, two masters are never firm at once, and each is out within a bound. Without the
// backend 0-turn, a pool without a server is always two checks that crossed at the first balancer, and heals with
// the next check. With it, no pool is ever without a server.
//
// Small spaces are tried whole, and some schedules of the others. PMCHECK_LONG=1 tries more, for a quarter of an hour.
func TestEverySchedule(t *testing.T) {
	regions := small()
	if lab.Long() {
		regions = slices.Concat(regions, whole())
	}
	for _, r := range slices.Concat(sampled(), thirds()) {
		if !lab.Long() {
			r.samples /= 300
		}
		if r.samples > 0 {
			regions = append(regions, r)
		}
	}

	const head = "| Pool | Schedules | Without a server | Longest | Checks crossed | Slowest exit |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: |\n"
	rows, whole, certain := "", "", findings{}
	for _, r := range regions {
		t.Run(r.name, func(t *testing.T) {
			f := r.assert(t)
			row := r.row(f)
			rows += row
			if r.samples == 0 {
				whole += row
			} else if r.turn != nil {
				certain.add(f)
			}
		})
	}
	t.Log("\n" + head + rows)
	if lab.Long() {
		lab.Publish(t, "schedules", head+whole+certain.row())
	}
}

// findings are those of all spaces with turns of which schedules are drawn.
type findings struct {
	spaces, schedules int
	share             float64 // the greatest
	longest           time.Duration
}

func (d *findings) add(f finding) {
	d.spaces++
	d.schedules += f.schedules
	d.share = max(d.share, f.share)
	d.longest = max(d.longest, f.longest)
}

func (d findings) row() string {
	return fmt.Sprintf("| %d more spaces with turns | %d | %.2f %% | %.1f s | | |\n", d.spaces, d.schedules, 100*d.share,
		d.longest.Seconds())
}

// row returns the line of a space in the table.
func (r region) row(f finding) string {
	schedules := fmt.Sprintf("%d, all", f.schedules)
	if r.samples > 0 {
		schedules = fmt.Sprint(f.schedules)
	}
	share := func(of float64) string { return fmt.Sprintf("%.2f %%", 100*of) }
	return fmt.Sprintf("| %s | %s | %s | %.1f s | %s | %.0f s |\n", r.name, schedules, share(f.share),
		f.longest.Seconds(), share(f.crossed), f.exit.Seconds())
}

func (r region) assert(t *testing.T) finding {
	f := r.explore()
	for what, n := range f.broken {
		if !slices.Contains(r.breaks, what) {
			t.Errorf("%d of %d schedules: %s", n, f.schedules, what)
		}
	}
	if len(f.broken) > 0 {
		t.Logf("%v; the first:\n%s", f.broken, f.story)
	}
	if r.turn == nil && r.samples == 0 && f.share == 0 {
		t.Error("no checks crossed: the explorer does not see what can happen")
	}
	return f
}
