package show

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/pmcheck/pmcheck/check/text"
)

// linesEvery is the least time between two lines where lines cannot be
// overwritten, as in a log. After 25 s it is a fifth of the time waited: a state that
// only counts seconds would fill the journal.
const linesEvery = 5 * time.Second

// Progress shows the progress of a wait: on a terminal in one line, with the seconds
// elapsed, elsewhere as a new line after a change, ever more seldom.
type Progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	Last     string    // the last state given to Say or Done
	line     string    // the last line written; on a terminal, what is in the line of the cursor
	written  time.Time // when it was written
}

// NewProgress returns a progress that begins now.
func NewProgress(w io.Writer) *Progress {
	file, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	return &Progress{w: w, began: time.Now(), terminal: terminal}
}

// Say shows a state, which may quote text from other hosts.
func (p *Progress) Say(state string) {
	p.Last = text.Printable(state, maxLine)
	switch {
	case p.terminal:
		p.draw("\033[?7l", "\033[?7h") // without a second row, which the next state would not overwrite
	case p.Last != p.line && time.Since(p.written) >= max(linesEvery, time.Since(p.began)/5):
		p.write()
	}
}

// Done shows the last state, as long as it may be.
func (p *Progress) Done(state string) {
	p.Say(state)
	switch {
	case p.terminal:
		p.draw("", "")
	case p.line != p.Last:
		p.write()
	}
}

// Note writes a line to w that stays, above the state.
func (p *Progress) Note(w io.Writer, line string) {
	if p.terminal {
		fmt.Fprint(p.w, "\r\033[K")
		p.line = ""
	}
	fmt.Fprintln(w, text.Printable(line, maxLine))
}

// draw replaces the line of a terminal.
func (p *Progress) draw(before, after string) {
	p.line = p.Last
	fmt.Fprintf(p.w, "\r\033[K%s%4.0fs  %s%s", before, time.Since(p.began).Seconds(), p.Last, after)
}

func (p *Progress) write() {
	fmt.Fprintln(p.w, p.Last)
	p.line, p.written = p.Last, time.Now()
}

// End leaves the terminal at the beginning of a line.
func (p *Progress) End() {
	if p.terminal && p.line != "" {
		fmt.Fprintln(p.w)
		p.line = ""
	}
}
