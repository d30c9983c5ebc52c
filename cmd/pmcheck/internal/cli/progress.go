package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// linesEvery is how often progress writes a line where it cannot change one: logs
// are read by people as well.
const linesEvery = 5 * time.Second

// progress shows what is waited for: on a terminal a line that changes, with
// the seconds gone by, elsewhere a line now and then.
type progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	last     string // that was said
	line     string // that was written last, and when
	written  time.Time
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, began: time.Now(), terminal: isTerminal(w)}
}

// isTerminal reports whether what is written can be overwritten.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) say(state string) {
	switch {
	case p.terminal:
		fmt.Fprintf(p.w, "\r\033[K%4.0fs  %s", time.Since(p.began).Seconds(), state)
	case state != p.line && time.Since(p.written) >= linesEvery:
		p.write(state)
	}
	p.last = state
}

// done says what it has come to.
func (p *progress) done(state string) {
	p.say(state)
	if !p.terminal && p.line != state {
		p.write(state)
	}
}

func (p *progress) write(state string) {
	fmt.Fprintln(p.w, state)
	p.line, p.written = state, time.Now()
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
