package render

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a log, progress is a line every few seconds, and the last state.
func TestProgressInALogIsLimitedToALineEveryFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := NewProgress(&log)
		for _, state := range []string{"3 sessions", "2 sessions", "1 session"} {
			p.Say(state)
			time.Sleep(time.Second)
		}
		time.Sleep(linesEvery)
		p.Say("1 session")
		p.Done("idle")
		p.End()
		if want := "3 sessions\n1 session\nidle\n"; log.String() != want {
			t.Errorf("it wrote %q, want %q", log.String(), want)
		}
		if p.Last != "idle" {
			t.Errorf("it ended with %q", p.Last)
		}
	})
}
