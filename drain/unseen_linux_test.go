package drain_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
	"golang.org/x/sys/unix"
)

// TestWatchSeesAClockThatIsSet sets the store's clock, and then that of the kernel, which it moves
// by a microsecond. The first time the watcher may still be starting.
func TestWatchSeesAClockThatIsSet(t *testing.T) {
	needRoot(t)
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	w := s.Watch()
	w.SetInterval(never)
	start(t, s, w)
	for i := range 4 {
		now := hours(i % 2 * 2)
		c.set(now)
		_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_SETOFFSET, Time: unix.Timeval{Usec: 1}})
		if errors.Is(err, unix.EPERM) && os.Getenv("CI") == "" {
			t.Skip("needs CAP_SYS_TIME")
		}
		must(t, err)
		waitUntil(t, w, now.String(), func() string { return w.Current().Taken().String() })
	}
}

// TestWatchSeesTheEndOfAHold: nothing tells that a hold ends.
func TestWatchSeesTheEndOfAHold(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	s.Now = time.Now
	w := s.Watch()
	w.SetInterval(never)
	start(t, s, w)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: time.Now().Add(time.Second / 2)})
	waitFor(t, w, "a:drain")
	waitUntil(t, w, "", func() string { return describe(w.Current().At(w.Current().Taken()).Holds()) })
}
