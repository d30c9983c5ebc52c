package monitor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// TestUnusedMasterIsAskedSeldomer: runs are left out while nobody uses the master, up to the
// longest pause, and at no other time.
func TestUnusedMasterIsAskedSeldomer(t *testing.T) {
	t.Parallel()
	until := func(end int) func(int) bool { return func(second int) bool { return second < end } }
	const never, always = 0, 1000
	for _, tt := range []struct {
		name           string
		unused         func(second int) bool
		kick           int // the second in which the check must run now
		every, longest time.Duration
		want           []int // the seconds in which it runs
	}{
		{"nobody comes", until(always), 0, 5 * time.Second, 15 * time.Second, []int{0, 15, 30, 45}},
		{"somebody is there", until(never), 0, 5 * time.Second, 15 * time.Second,
			[]int{0, 5, 10, 15, 20, 25, 30, 35, 40, 45}},
		{"somebody comes", until(18), 0, 5 * time.Second, 15 * time.Second, []int{0, 15, 20, 25, 30, 35, 40, 45}},
		{"it is wanted now", until(always), 7, 5 * time.Second, 15 * time.Second, []int{0, 7, 22, 37}},
		{"it makes no difference", until(always), 0, 15 * time.Second, 0, []int{0, 15, 30, 45}},
		{"no multiple", until(always), 0, 10 * time.Second, 25 * time.Second, []int{0, 20, 40}},
		{"the pause is longer", until(always), 0, 20 * time.Second, 15 * time.Second, []int{0, 20, 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				second := func() int { return int(time.Since(began).Seconds()) }
				r := &runner{kick: make(chan struct{}, 1), signals: new(signals), every: tt.every}
				r.Timeout, r.Interval, r.Unused = time.Second, tt.every, tt.longest
				r.unused = func(time.Time) bool { return tt.unused(second()) }
				ctx, cancel := context.WithTimeout(t.Context(), 49*time.Second)
				defer cancel()
				var ran []int
				r.Check = func(context.Context) check.Finding {
					ran = append(ran, second())
					return check.Finding{}
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

// TestUseIsOverOnceALookHasFoundNobody: what the last agent has done is looked at before
// anything is left out.
func TestUseIsOverOnceALookHasFoundNobody(t *testing.T) {
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
