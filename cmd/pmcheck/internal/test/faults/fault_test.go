package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A fault is one thing that goes wrong. The master serves before and after it.
type fault struct {
	area, name string
	// prepare makes what comes before it, and restore ends that. Neither is observed: both may take the master
	// out for a while.
	prepare, restore func(*faultSite)
	// inject makes it happen and returns once it has happened.
	inject func(*faultSite)
	// mend ends it; nil is for a fault that ends by itself.
	mend func(*faultSite)
	// said lists the answers that balancers may get, such as "503 unhealthy: refused": more
	// than one if the answer depends on what pmcheck notices first. It is nil for a fault
	// that must not keep agents away: all answers are 200.
	said []string
	// gaps says that answers may be missing, as long as HAProxy keeps the master UP.
	gaps bool
	// within is how long pmcheck may take until it gives such an answer, and back until it
	// answers 200 again.
	within, back time.Duration
	// lasts is how long the fault is observed. The default is 2 s.
	lasts time.Duration
	// long marks a fault that takes too long for make test-all.
	long bool
}

// run injects the faults of an area, each in a subtest that adds a row to the table of the site.
func (s *faultSite) run(area string, faults []fault) {
	for _, f := range faults {
		if f.long && !lab.Long() {
			continue
		}
		f.area = area
		s.t.Run(area+": "+f.name, func(t *testing.T) {
			s.with(t).test(f)
		})
	}
}

func (s *faultSite) with(t *testing.T) *faultSite {
	return &faultSite{Site: s.With(t), t: t, table: s.table}
}

// test injects a fault, waits for the expected answer of pmcheck and status of HAProxy,
// mends the fault, and waits until the master serves again.
func (s *faultSite) test(f fault) {
	s.t.Helper()
	s.waitForServing()
	if f.prepare != nil {
		s.t.Cleanup(func() { f.restore(s) })
		f.prepare(s)
		s.waitForServing()
	}
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
	defer mend() // if this test fails, for the faults after it
	f.inject(s)
	if f.said != nil {
		r.answer = answers.WaitOne(f.said, r.began, f.within)
		states.WaitOne([]string{"DOWN"}, r.began, 15*time.Second)
	}
	if f.said != nil && f.mend == nil {
		r.mended = r.answer.At
	} else {
		lab.Pause(s.t, max(f.lasts, 2*time.Second))
		r.mended = time.Now()
	}
	mend()
	r.back = answers.WaitOne([]string{lab.ServingResponse}, r.mended, max(f.back, 5*time.Second))
	states.WaitOne([]string{"UP"}, r.mended, max(f.back, 5*time.Second)+15*time.Second)
	answers.Stop()
	states.Stop()
	s.t.Logf("answers of pmcheck: %s; status in HAProxy: %s", answers, states)
	if r.assertTrue(s.t, answers, states); !s.t.Failed() {
		s.table.rows = append(s.table.rows, r)
	}
}

// assertTrue fails the test if an answer, or the status in HAProxy, sent agents to a master
// that had failed, or kept them away from one that had not.
func (r row) assertTrue(t *testing.T, answers, states *lab.Record) {
	t.Helper()
	for _, a := range answers.Changes() {
		during := r.said != nil && a.At.After(r.answer.At) && a.At.Before(r.mended)
		switch {
		case r.said == nil && a.Answer != lab.ServingResponse && !(r.gaps && a.Answer == lab.NoAnswer):
			t.Errorf("the answer was %q, %s after the fault began: %s", a.Answer, a.At.Sub(r.began), answers)
			return
		case during && strings.HasPrefix(a.Answer, fmt.Sprint(http.StatusOK)):
			t.Errorf("the answer was %q during the fault: %s", a.Answer, answers)
			return
		}
	}
	for _, state := range states.Changes() {
		if r.said == nil && !strings.HasPrefix(state.Answer, "UP") {
			t.Errorf("the status in HAProxy was %q: %s", state.Answer, states)
			return
		}
	}
}
