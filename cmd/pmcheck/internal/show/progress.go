package show

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/pmcheck/pmcheck/check/text"
)

const (
	// linesEvery is the least time between two lines where lines cannot be
	// overwritten, as in a log. After 25 s it is a fifth of the time waited: a state that
	// only counts seconds would fill the journal.
	linesEvery = 5 * time.Second
	// watchEvery is how often a watched status is read. The daemon answers from
	// memory, so reading costs the master nothing.
	watchEvery = time.Second
)

// Progress shows the progress of a wait: on a terminal in one line, with the seconds
// elapsed, elsewhere as a new line after a change, ever more seldom.
type Progress struct {
	w        io.Writer
	terminal bool
	columns  func() int // of the terminal, whose size may change; 0 means not known
	began    time.Time
	Last     string    // the last state given to Say or Done
	line     string    // the last line written
	written  time.Time // when it was written
}

// NewProgress returns a progress that begins now.
func NewProgress(w io.Writer) *Progress {
	columns := func() int { _, n := size(w); return n }
	return &Progress{w: w, began: time.Now(), terminal: terminal(w), columns: columns}
}

// terminal reports whether w is a terminal where a line can be overwritten.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
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
	}
	fmt.Fprintln(w, text.Printable(line, maxLine))
}

// draw replaces the line of a terminal.
func (p *Progress) draw(state string) {
	fmt.Fprintf(p.w, "\r\033[K%4.0fs  %s", time.Since(p.began).Seconds(), state)
}

// oneRow returns what of a state fits beside the seconds into one row of a terminal: only that row
// is overwritten. With 0 columns the width is not known.
func oneRow(state string, columns int) string {
	const seconds, cut = len("9999s  "), "..."
	room := columns - seconds - 1
	if columns == 0 || utf8.RuneCountInString(state) <= room {
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
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}

// Watch shows a status until it is interrupted: on a terminal as a screen that
// is drawn again, elsewhere as a line for each change.
func Watch(ctx context.Context, w io.Writer, read func(context.Context) Screen) error {
	overwrite := terminal(w)
	last := ""
	for {
		s := read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch lines, _ := size(w); {
		case overwrite:
			fmt.Fprintf(w, "\033[H\033[2J%s", s.fit(lines))
		case s.Line != last:
			fmt.Fprintf(w, "%s  %s\n", time.Now().Format(time.TimeOnly), s.Line)
		}
		last = s.Line
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// Screen is a watched status at one moment.
type Screen struct {
	Text string // the whole, for a terminal
	Line string // what matters, for a log
}

// fit returns the text for a terminal of so many lines; 0 means that this is not known. If
// the text does not fit, lines before the last one are left out: its beginning, which says
// most, must not scroll away.
func (s Screen) fit(lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(s.Text, "\n"), "\n")
	if lines < 3 || len(all) < lines {
		return s.Text
	}
	return strings.Join(all[:lines-2], "") + all[len(all)-1] + "\n"
}

// size returns how many lines and columns a terminal has, 0 if that is not known.
func size(w io.Writer) (lines, columns int) {
	if file, ok := w.(*os.File); ok {
		columns, lines, _ = term.GetSize(int(file.Fd()))
	}
	return max(0, lines), max(0, columns)
}
