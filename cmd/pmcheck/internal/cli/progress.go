package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/pmcheck/pmcheck/check/text"
)

// maxState bounds a state, which may quote others, in bytes.
const maxState = 1000

// linesEvery is the least time between two lines where lines cannot be
// overwritten, as in a log. After 25 s it is a fifth of the time waited: a state that
// only counts seconds would fill the journal.
const linesEvery = 5 * time.Second

// progress shows the progress of a wait: on a terminal in one line, with the seconds
// elapsed, elsewhere as a new line after a change, ever more seldom.
type progress struct {
	w        io.Writer
	terminal bool
	Began    time.Time // of the wait
	Last     string    // the last state given to Say or Done
	line     string    // the last line written; on a terminal, the one above the cursor, if it is a state
	written  time.Time // when it was written
}

// newProgress returns a progress that begins now.
func newProgress(w io.Writer) *progress {
	file, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	return &progress{w: w, Began: time.Now(), terminal: terminal}
}

// Say shows a state, which may quote text from other hosts.
func (p *progress) Say(state string) {
	p.Last = text.Printable(state, maxState)
	waited := time.Since(p.Began)
	if p.terminal {
		// Without wrapping, the state is a single row.
		p.write("\033[?7l%4.0fs  %s\033[?7h\n", waited.Seconds(), p.Last)
		return
	}

	isDue := time.Since(p.written) >= max(linesEvery, waited/5)
	if isDue && p.Last != p.line {
		p.write("%s\n", p.Last)
	}
}

// Done shows the last state, as long as it may be.
func (p *progress) Done(state string) {
	p.Last = text.Printable(state, maxState)
	if p.terminal {
		p.write("%4.0fs  %s\n", time.Since(p.Began).Seconds(), p.Last)
		p.line = "" // the row stays
		return
	}

	if p.line != p.Last {
		p.write("%s\n", p.Last)
	}
}

// Note writes a line to w that stays, above the state.
func (p *progress) Note(w io.Writer, line string) {
	p.erase()
	fmt.Fprintln(w, text.Printable(line, maxState))
}

// write writes the last state, on a terminal in place of the state before.
func (p *progress) write(format string, args ...any) {
	p.erase()
	fmt.Fprintf(p.w, format, args...)
	p.line = p.Last
	p.written = time.Now()
}

// erase removes the row of the state from a terminal.
func (p *progress) erase() {
	if p.terminal && p.line != "" {
		fmt.Fprint(p.w, "\033[A\r\033[J")
		p.line = ""
	}
}
