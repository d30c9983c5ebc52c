package render

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// linesEvery is the least time between two lines where a line cannot be changed,
// as in a log.
const linesEvery = 5 * time.Second

// Progress shows how a wait is going: on a terminal a line that changes, with
// the seconds gone by, elsewhere a line now and then.
type Progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	Last     string // what was said last
	line     string // that was written last, and when
	written  time.Time
}

// NewProgress returns a progress that begins now.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, began: time.Now(), terminal: terminal(w)}
}

// terminal reports whether what is written can be overwritten.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Say shows a state.
func (p *Progress) Say(state string) {
	switch {
	case p.terminal:
		fmt.Fprintf(p.w, "\r\033[K%4.0fs  %s", time.Since(p.began).Seconds(), state)
	case state != p.line && time.Since(p.written) >= linesEvery:
		p.write(state)
	}
	p.Last = state
}

// Done shows how it ended.
func (p *Progress) Done(state string) {
	p.Say(state)
	if !p.terminal && p.line != state {
		p.write(state)
	}
}

func (p *Progress) write(state string) {
	fmt.Fprintln(p.w, state)
	p.line, p.written = state, time.Now()
}

// End leaves the terminal at the beginning of a line.
func (p *Progress) End() {
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
