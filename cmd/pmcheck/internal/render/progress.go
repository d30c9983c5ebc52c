package render

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/pmcheck/pmcheck/check/text"
)

const (
	// linesEvery is the least time between two lines where lines cannot be
	// overwritten, as in a log. After a while it is a fifth of the time waited: a turn of
	// twenty minutes would fill the journal with the same sentence.
	linesEvery = 5 * time.Second
	// watchEvery is how often a watched status is read. The daemon answers from
	// memory, so reading costs the master nothing.
	watchEvery = time.Second
)

// Progress shows the progress of a wait: on a terminal in one line, with the seconds
// elapsed, elsewhere in a new line every few seconds.
type Progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	Last     string    // the last state given to Say or Done
	line     string    // the last line written
	written  time.Time // when it was written
}

// NewProgress returns a progress that begins now.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, began: time.Now(), terminal: terminal(w)}
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
		fmt.Fprintf(p.w, "\r\033[K%4.0fs  %s", time.Since(p.began).Seconds(), state)
	case state != p.line && time.Since(p.written) >= max(linesEvery, time.Since(p.began)/5):
		p.write(state)
	}
	p.Last = state
}

// Done shows the last state.
func (p *Progress) Done(state string) {
	p.Say(state)
	if !p.terminal && p.line != p.Last {
		p.write(p.Last)
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

// How a Bar looks, and how long it stays away: a pool that answers at once needs none.
const (
	barWidth = 40
	barAfter = 300 * time.Millisecond
	barEvery = 50 * time.Millisecond
)

// Bar returns a function that shows how many of a total are done, as a bar on a terminal
// that disappears at the end. It shows nothing where lines cannot be overwritten.
func Bar(w io.Writer, total int, what string) func(done int) {
	if !terminal(w) {
		return nil
	}
	return bar(w, total, what)
}

func bar(w io.Writer, total int, what string) func(done int) {
	next := time.Now().Add(barAfter)
	shown := false
	return func(done int) {
		switch now := time.Now(); {
		case done == total && shown:
			fmt.Fprint(w, "\r\033[K")
		case done < total && !now.Before(next):
			full := barWidth * done / total
			fmt.Fprintf(w, "\r\033[K[%-*s] %d of %d %s", barWidth, strings.Repeat("#", full), done, total, what)
			shown, next = true, now.Add(barEvery)
		}
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
		switch {
		case overwrite:
			fmt.Fprintf(w, "\033[H\033[2J%s", s.fit(height(w)))
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
	// Cut means that of a text longer than the terminal the first lines and the last are
	// shown, rather than its end.
	Cut bool
}

// fit returns the text for a terminal of so many lines; 0 means that this is not known.
func (s Screen) fit(lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(s.Text, "\n"), "\n")
	if !s.Cut || lines < 3 || len(all) < lines {
		return s.Text
	}
	return strings.Join(all[:lines-2], "") + all[len(all)-1] + "\n"
}

// height returns how many lines a terminal has, 0 if that is not known.
func height(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if _, lines, err := term.GetSize(int(file.Fd())); err == nil {
			return lines
		}
	}
	return 0
}
