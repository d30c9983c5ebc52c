package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// serving is what balancers are told of a master that is fit.
const serving = "200 " + answer.Serving

// A fault is one thing that goes wrong. Before and after it the master is fit.
type fault struct {
	area, name string
	// inject makes it happen and returns once it has.
	inject func(*site)
	// mend takes it away; nil is for what goes by itself. by says in a few words
	// who or what did.
	mend func(*site)
	by   string
	// said is what pmcheck then tells balancers, such as "503 unhealthy: refused", or
	// one of these where it depends on what is noticed first. None is for what must
	// not keep a single agent away: all answers are 200.
	said []string
	// gaps says that answers may stay out, as long as HAProxy does not mind.
	gaps bool
	// haproxy is what HAProxy makes of that: "DOWN" or "NOLB".
	haproxy string
	// within is how long pmcheck may take to say it, back to say 200 again.
	within, back time.Duration
	// lasts is how long the fault is looked at. Default 2 s.
	lasts time.Duration
	// long is what takes too long for each build.
	long bool
}

// suffer has a site go through a fault and adds a row to its table.
func (s *site) suffer(f fault) {
	if f.long && !long() {
		return
	}
	s.t.Run(f.area+": "+f.name, func(t *testing.T) {
		sub := *s
		sub.t = t
		sub.goThrough(f)
	})
}

func (s *site) goThrough(f fault) {
	s.t.Helper()
	s.awaitFit()
	w := s.watch()
	r := row{fault: f, began: time.Now()}
	broken := f.mend != nil
	mend := func() {
		if broken {
			broken = false
			f.mend(s)
		}
	}
	defer mend() // for the faults to come, if this one fails
	f.inject(s)
	if f.said != nil {
		r.heard = w.answers.await(s.t, f.said, r.began, f.within)
		r.state = w.states.await(s.t, []string{f.haproxy}, r.began, 15*time.Second)
	}
	if r.heard != nil && f.mend == nil {
		r.mended = r.heard.at
	} else {
		s.lookOn(max(f.lasts, 2*time.Second))
		r.mended = time.Now()
	}
	mend()
	r.back = w.answers.await(s.t, []string{serving}, r.mended, max(f.back, 5*time.Second))
	r.up = w.states.await(s.t, []string{"UP"}, r.mended, max(f.back, 5*time.Second)+15*time.Second)
	w.stop()
	s.t.Logf("balancers were told %s; HAProxy said %s", &w.answers, &w.states)
	if w.judge(s.t, r); !s.t.Failed() {
		s.table.add(r)
	}
}

// judge fails the test if an agent was sent to the master, or kept away from it,
// when that was wrong.
func (w *watch) judge(t *testing.T, r row) {
	t.Helper()
	for _, told := range w.answers.list {
		switch {
		case r.heard == nil && told.what != serving && !(r.gaps && told.what == silence):
			t.Errorf("balancers were told %q, %s after it began: %s", told.what, told.at.Sub(r.began), &w.answers)
			return
		case r.heard != nil && told.at.After(r.heard.at) && told.at.Before(r.mended) && strings.HasPrefix(told.what, fmt.Sprint(http.StatusOK)):
			t.Errorf("balancers were told %q while the fault was there: %s", told.what, &w.answers)
			return
		}
	}
	for _, state := range w.states.list {
		if r.heard == nil && !strings.HasPrefix(state.what, "UP") {
			t.Errorf("HAProxy said %q: %s", state.what, &w.states)
			return
		}
	}
}

// lookOn lets HAProxy check for a while.
func (s *site) lookOn(while time.Duration) {
	s.t.Helper()
	end := time.Now().Add(while)
	lab.RetryUntil(s.t, while+time.Minute, 10*time.Millisecond, func() error {
		if left := time.Until(end); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
}
