//go:build linux

package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A fault is one thing that goes wrong. Before and after it the master serves.
type fault struct {
	area, name string
	// inject makes it happen and returns once it has.
	inject func(*faultSite)
	// mend takes it away; nil is for a fault that goes by itself. by says in a few
	// words what ended it.
	mend func(*faultSite)
	by   string
	// said is what pmcheck then tells balancers, such as "503 unhealthy: refused", or
	// one of these where it depends on what is noticed first. None is for a fault
	// that must keep no agent away: all answers are 200.
	said []string
	// gaps says that answers may be missing, as long as HAProxy keeps the master UP.
	gaps bool
	// haproxy is what HAProxy makes of that: "DOWN" or "NOLB".
	haproxy string
	// within is how long pmcheck may take to say it, back to say 200 again.
	within, back time.Duration
	// lasts is how long the fault is looked at. Default 2 s.
	lasts time.Duration
	// long is a fault that takes too long for each build.
	long bool
}

// run injects a fault in a subtest and adds a row to the table of the site.
func (s *faultSite) run(f fault) {
	if f.long && !long() {
		return
	}
	s.t.Run(f.area+": "+f.name, func(t *testing.T) {
		s.with(t).test(f)
	})
}

// with returns the site for a subtest.
func (s *faultSite) with(t *testing.T) *faultSite {
	return &faultSite{Site: s.With(t), t: t, table: s.table}
}

// test injects a fault, waits for what pmcheck and HAProxy say, mends it, and waits
// until the master serves again.
func (s *faultSite) test(f fault) {
	s.t.Helper()
	s.waitForServing()
	answers := s.Record(5 * time.Millisecond)
	states := lab.StartRecord(s.t, 20*time.Millisecond, s.state)
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
		r.answer = answers.WaitOne(f.said, r.began, f.within)
		r.state = states.WaitOne([]string{f.haproxy}, r.began, 15*time.Second)
	}
	if f.said != nil && f.mend == nil {
		r.mended = r.answer.At
	} else {
		lab.Pause(s.t, max(f.lasts, 2*time.Second))
		r.mended = time.Now()
	}
	mend()
	r.back = answers.WaitOne([]string{lab.ServingResponse}, r.mended, max(f.back, 5*time.Second))
	r.up = states.WaitOne([]string{"UP"}, r.mended, max(f.back, 5*time.Second)+15*time.Second)
	answers.Stop()
	states.Stop()
	s.t.Logf("balancers were told %s; HAProxy said %s", answers, states)
	if r.assertTrue(s.t, answers, states); !s.t.Failed() {
		s.table.add(r)
	}
}

// assertTrue fails the test if an agent was sent to the master, or kept away from
// it, when that was wrong.
func (r row) assertTrue(t *testing.T, answers, states *lab.Record) {
	t.Helper()
	for _, a := range answers.Changes() {
		during := r.said != nil && a.At.After(r.answer.At) && a.At.Before(r.mended)
		switch {
		case r.said == nil && a.Answer != lab.ServingResponse && !(r.gaps && a.Answer == lab.NoAnswer):
			t.Errorf("balancers were told %q, %s after it began: %s", a.Answer, a.At.Sub(r.began), answers)
			return
		case during && strings.HasPrefix(a.Answer, fmt.Sprint(http.StatusOK)):
			t.Errorf("balancers were told %q during the fault: %s", a.Answer, answers)
			return
		}
	}
	for _, state := range states.Changes() {
		if r.said == nil && !strings.HasPrefix(state.Answer, "UP") {
			t.Errorf("HAProxy said %q: %s", state.Answer, states)
			return
		}
	}
}
