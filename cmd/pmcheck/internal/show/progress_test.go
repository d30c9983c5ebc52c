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

// Only one row is drawn again, so a longer state would leave a row behind each second. The last
// state is shown as a whole.
func TestProgressOnATerminalStaysInItsRow(t *testing.T) {
	var screen strings.Builder
	p := NewProgress(&screen)
	p.terminal, p.columns = true, func() int { return 20 }
	p.Say("lb1 still sends agents")
	if want := "\r\033[K   0s  lb1 still..."; screen.String() != want {
		t.Errorf("it drew %q, want %q", screen.String(), want)
	}
	p.Done("idle, and drained for half an hour")
	if want := "\r\033[K   0s  idle, and drained for half an hour"; !strings.HasSuffix(screen.String(), want) {
		t.Errorf("at the end it drew %q, want %q", screen.String(), want)
	}
}

func TestProgressFitsIntoARowOfTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		state   string
		columns int
		want    string
	}{
		{"lb1 sends", 0, "lb1 sends"},
		{"lb1 sends", 17, "lb1 sends"},
		{"lb1 sends", 16, "lb1 s..."},
		{"größer als", 17, "größer..."},
		{"lb1 sends", 5, "..."},
	} {
		if got := oneRow(tt.state, tt.columns); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.state, tt.columns, got, tt.want)
		}
	}
}
