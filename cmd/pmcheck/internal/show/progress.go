package show

import (
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

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
	columns  func() int // of the terminal, whose size may change; 0 or less means not known
	began    time.Time
	Last     string    // the last state given to Say or Done
	line     string    // the last line written; on a terminal, what is in the line of the cursor
	written  time.Time // when it was written
}

// NewProgress returns a progress that begins now.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{w: w, began: time.Now()}
	file, ok := w.(*os.File)
	if p.terminal = ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"; p.terminal {
		p.columns = func() int {
			columns, _, _ := term.GetSize(int(file.Fd()))
			return columns
		}
	}
	return p
}

// Say shows a state, which may quote text from other hosts.
func (p *Progress) Say(state string) {
	state = text.Printable(state, maxLine)
	switch {
	case p.terminal:
		p.draw(oneRow(state, p.columns()))
	case state != p.line && time.Since(p.written) >= max(linesEvery, time.Since(p.began)/5):
		p.write(state)
	}
	p.Last = state
}

// Done shows the last state, as long as it may be.
func (p *Progress) Done(state string) {
	p.Say(state)
	switch {
	case p.terminal:
		p.draw(p.Last)
	case p.line != p.Last:
		p.write(p.Last)
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
func (p *Progress) draw(state string) {
	p.line = state
	fmt.Fprintf(p.w, "\r\033[K%4.0fs  %s", time.Since(p.began).Seconds(), state)
}

// oneRow returns what of a state fits beside the seconds into one row of a terminal: only that row
// is overwritten. With no columns the width is not known.
func oneRow(state string, columns int) string {
	const seconds, cut = len("9999s  "), "..."
	room := columns - seconds - 1
	if columns <= 0 || utf8.RuneCountInString(state) <= room {
		return state
	}
	return string([]rune(state)[:max(0, room-len(cut))]) + cut
}

func (p *Progress) write(state string) {
	fmt.Fprintln(p.w, state)
	p.line, p.written = state, time.Now()
}

// End leaves the terminal at the beginning of a line.
func (p *Progress) End() {
	if p.terminal && p.line != "" {
		fmt.Fprintln(p.w)
		p.line = ""
	}
}
