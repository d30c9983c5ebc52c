package show

import (
	"fmt"
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

func TestProgressOfALongWaitIsAFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := NewProgress(&log)
		for second := range 20 * 60 {
			p.Say(fmt.Sprintf("lb1 has been missing a server for %ds", second))
			time.Sleep(time.Second)
		}
		if lines := strings.Count(log.String(), "\n"); lines < 15 || lines > 30 {
			t.Errorf("%d lines in 20 minutes", lines)
		}
	})
}

func TestProgressOnATerminalStaysInItsRow(t *testing.T) {
	var screen strings.Builder
	p := NewProgress(&screen)
	p.terminal = true
	p.Say("lb1 still sends")
	p.Done("idle")
	p.End()
	p.End()
	const want = "\r\033[K\033[?7l   0s  lb1 still sends\033[?7h" +
		"\r\033[K\033[?7l   0s  idle\033[?7h" +
		"\r\033[K   0s  idle\n"
	if screen.String() != want {
		t.Errorf("it drew %q, want %q", screen.String(), want)
	}
}
