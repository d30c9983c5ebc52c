//go:build linux

package e2e_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// noticeToggle is the documented delay until a hold that was set or lifted changes the
// answer.
const noticeToggle = 20 * time.Millisecond

// TestToggleLatency sets and lifts a hold again and again. It counts from the
// moment that the hold's file exists or is gone. That is before the command
// returns, since a toggle is made durable after it has become visible.
func TestToggleLatency(t *testing.T) {
	lab.Real(t)
	const batches, toggles = 3, 300
	r := lab.StartSite(t, lab.SiteOptions{})

	var p99 []time.Duration
	for range batches {
		noticed, whole := make([]time.Duration, toggles), make([]time.Duration, toggles)
		for i := range toggles {
			noticed[i], whole[i] = timeToggle(r, i%2 == 0)
		}
		slices.Sort(noticed)
		slices.Sort(whole)
		measured(t, "toggle visible to answer, p50 of 300", noticed[toggles/2])
		measured(t, "toggle visible to answer, p99 of 300", noticed[toggles*99/100])
		measured(t, "toggle asked for to answer, disk included, p50 of 300", whole[toggles/2])
		measured(t, "toggle asked for to answer, disk included, p99 of 300", whole[toggles*99/100])
		p99 = append(p99, noticed[toggles*99/100])
	}
	slices.Sort(p99)
	assertWithin(t, "toggle visible to answer, p99 of 300, median of three batches", p99[batches/2], noticeToggle)
}

// timeToggle sets or lifts the operator's hold, and returns how long the answer
// took to change: since the change was visible, and since it was begun.
func timeToggle(r *lab.Site, hold bool) (noticed, whole time.Duration) {
	r.TB.Helper()
	answered, visible := make(chan time.Time, 1), make(chan time.Time, 1)
	go poll(answered, func() bool {
		code, _, err := r.Ask("/")
		return err == nil && (code != http.StatusOK) == hold
	})
	path := filepath.Join(r.Holds.Persistent, drain.Operator+".json")
	go poll(visible, func() bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist) != hold
	})

	watch, begun := r.StartStopwatch(), time.Now()
	var err error
	if hold {
		_, err = r.Holds.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	} else {
		_, err = r.Holds.Lift(drain.Operator, "")
	}
	if err != nil {
		r.TB.Fatal(err)
	}
	seen, changed := <-answered, <-visible
	if seen.Sub(begun) > pollTime {
		r.TB.Fatalf("the answer has not changed %v after the hold", pollTime)
	}
	return watch.Took(changed, seen), watch.Took(begun, seen)
}

// pollTime is how long poll goes on.
const pollTime = 10 * time.Second

// poll calls ask about ten thousand times per second until it returns true or pollTime
// has passed, and sends the time of that.
func poll(at chan<- time.Time, ask func() bool) {
	giveUp := time.Now().Add(pollTime)
	for !ask() && time.Now().Before(giveUp) {
		time.Sleep(100 * time.Microsecond)
	}
	at <- time.Now()
}
