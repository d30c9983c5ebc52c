package monitor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// TestIdleMasterIsAskedLessOften: runs are left out while no agent uses the master and all is
// well, up to the longest pause.
func TestIdleMasterIsAskedLessOften(t *testing.T) {
	t.Parallel()
	until := func(end int) func(int) bool { return func(second int) bool { return second < end } }
	const never, always = 0, 1000
	for _, tt := range []struct {
		name           string
		idle           func(second int) bool
		state          check.State
		health         check.Health
		kick           int // the second in which the check must run now
		every, longest int // seconds
		want           []int
	}{
		{"idle", until(always), check.StateOK, check.Healthy, 0, 5, 15, []int{0, 15, 30, 45}},
		{"in use", until(never), check.StateOK, check.Healthy, 0, 5, 15, []int{0, 5, 10, 15, 20, 25, 30, 35, 40, 45}},
		{"an agent comes", until(18), check.StateOK, check.Healthy, 0, 5, 15, []int{0, 15, 20, 25, 30, 35, 40, 45}},
		{"a warning", until(always), check.StateWarn, check.Busy, 0, 15, 45, []int{0, 15, 30, 45}},
		{"not known", until(always), check.StateNone, check.Unknown, 0, 15, 45, []int{0, 15, 30, 45}},
		{"wanted now", until(always), check.StateOK, check.Healthy, 7, 5, 15, []int{0, 7, 22, 37}},
		{"no difference", until(always), check.StateOK, check.Healthy, 0, 15, 0, []int{0, 15, 30, 45}},
		{"no multiple: 9 s", until(always), check.StateOK, check.Healthy, 0, 9, 25, []int{0, 18, 36}},
		{"no multiple: 10 s", until(always), check.StateOK, check.Healthy, 0, 10, 25, []int{0, 20, 40}},
		{"less than two: 13 s", until(always), check.StateOK, check.Healthy, 0, 13, 25, []int{0, 13, 26, 39}},
		{"less than one", until(always), check.StateOK, check.Healthy, 0, 20, 15, []int{0, 20, 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				second := func() int { return int(time.Since(began).Seconds()) }
				r := &runner{kick: make(chan struct{}, 1), signals: new(signals)}
				r.Interval, r.Unused = time.Duration(tt.every)*time.Second, time.Duration(tt.longest)*time.Second
				r.Timeout = time.Second
				r.idle = func(check.Finding) bool { return tt.idle(second()) }
				ctx, cancel := context.WithTimeout(t.Context(), 49*time.Second)
				defer cancel()
				var ran []int
				r.Check = func(context.Context) check.Finding {
					ran = append(ran, second())
					return check.Finding{State: tt.state, Health: tt.health}
				}
				found := make(chan found)
				go r.run(ctx, found)
				kick := time.NewTimer(time.Duration(tt.kick) * time.Second)
				if tt.kick == 0 {
					kick.Stop()
				}
				for ctx.Err() == nil {
					select {
					case <-found:
					case <-kick.C:
						r.kick <- struct{}{}
					case <-ctx.Done():
					}
				}
				synctest.Wait()
				if !slices.Equal(ran, tt.want) {
					t.Errorf("ran in seconds %v, want %v", ran, tt.want)
				}
			})
		})
	}
}

// TestUseIsOverOnceALookHasFoundNoAgent: what the last agent has done is looked at before a run
// is left out.
func TestUseIsOverOnceALookHasFoundNoAgent(t *testing.T) {
	began := time.Now()
	for _, tt := range []struct {
		name  string
		looks []bool // one each second; true found the master in use
		since time.Duration
		want  bool
	}{
		{"never used", []bool{false, false}, 0, true},
		{"used now", []bool{false, true}, 0, false},
		{"used until now, perhaps", []bool{true, false}, time.Second / 2, false},
		{"used before", []bool{true, false, false}, time.Second * 3 / 2, true},
		{"used since", []bool{false, true, false, false}, time.Second / 2, false},
	} {
		var u use
		got := false
		for i, used := range tt.looks {
			got = u.over(used, began.Add(tt.since), began.Add(time.Duration(i)*time.Second))
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLoansShowUse: a JRuby that is lent, or was between two readings, is an agent at work.
func TestLoansShowUse(t *testing.T) {
	var u use
	for i, step := range []struct {
		pool *check.Pool
		want bool
	}{
		{nil, false},
		{&check.Pool{}, false},
		{&check.Pool{Borrowed: make([]check.Loan, 1)}, true},
		{&check.Pool{Borrows: 7}, true},
		{&check.Pool{Borrows: 7}, false},
		{nil, false},
		{&check.Pool{Borrows: 7}, false},
		{&check.Pool{}, true}, // restarted
	} {
		if got := u.lent(step.pool); got != step.want {
			t.Errorf("reading %d: %v, want %v", i, got, step.want)
		}
	}
}
