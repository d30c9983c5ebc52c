package cli

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a log, progress is a line every few seconds, and the last state; a long wait is a few lines.
func TestProgressInALogIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := newProgress(&log)
		for second := range 20 * 60 {
			p.Say(fmt.Sprintf("lb1/puppet has been missing a server for %ds", second))
			time.Sleep(time.Second)
		}
		p.Done("idle")
		lines := strings.Split(log.String(), "\n")
		if n := len(lines); n < 15 || n > 32 || lines[n-2] != "idle" || p.Last != "idle" {
			t.Errorf("%d lines in 20 minutes: %q", n, lines)
		}
		if !strings.HasPrefix(lines[1], "lb1/puppet has been missing a server for ") || lines[1] == lines[2] {
			t.Errorf("it repeats %q", lines[1])
		}
	})
}

func TestProgressOnATerminalStaysInItsRow(t *testing.T) {
	var screen strings.Builder
	p := newProgress(&screen)
	p.terminal = true
	p.Say("lb1/puppet still sends")
	p.Note(&screen, "held")
	p.Say("lb1/puppet still sends")
	p.Done("idle")
	p.Note(&screen, "in effect")
	const erased = "\033[A\r\033[J"
	const want = "\033[?7l   0s  lb1/puppet still sends\033[?7h\n" + erased + "held\n" +
		"\033[?7l   0s  lb1/puppet still sends\033[?7h\n" + erased + "   0s  idle\nin effect\n"
	if screen.String() != want {
		t.Errorf("it drew %q, want %q", screen.String(), want)
	}
}
