package show

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A row has a name and a value, which begins in column indent and wraps at words: no row is wider than
// width, unless a word is.
const (
	width  = 80
	indent = 11
)

func row(w io.Writer, name, value string) {
	if value == "" {
		return
	}
	line := fmt.Sprintf("%-*s", indent-1, name)
	for word := range strings.FieldsSeq(value) {
		if columns := utf8.RuneCountInString(line); columns >= indent && columns+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", indent-1)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
