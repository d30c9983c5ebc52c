package config

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/xrash/smetrics"
)

// Fault is one mistake in a configuration. It is an error.
type Fault struct {
	key     string // dotted; empty when it is about a whole file
	problem string // what is wrong
	hint    string // what to write instead; may be empty
	at      place
}

// Error returns "origin: key: problem (hint)" in one line, without the parts that are empty.
func (f Fault) Error() string {
	text := f.problem
	if f.hint != "" {
		text += " (" + f.hint + ")"
	}
	for _, part := range []string{f.key, f.at.origin} {
		if part != "" {
			text = part + ": " + text
		}
	}
	return text
}

// The sources of a configuration, weakest first.
const (
	layerDefault = iota
	layerPuppet
	layerFile
	layerEnviron
	layerFlags
)

// A place is where a value came from; the zero value is the default. Places compare in the order
// in which faults are reported: by layer, then by line.
type place struct {
	layer  int
	line   int
	origin string
}

// inFile returns the place of a line; 0 is the file as a whole.
func inFile(layer int, name string, line int) place {
	if line == 0 {
		return place{layer, 0, name}
	}
	return place{layer, line, name + ":" + strconv.Itoa(line)}
}

// fault records a mistake, but only once.
func (l *loader) fault(at place, key, problem, hint string) {
	if f := (Fault{key, problem, hint, at}); !slices.Contains(l.faults, f) {
		l.faults = append(l.faults, f)
	}
}

// take records the faults in an error of a decoder, which joins those of the items of a list.
func (l *loader) take(err error, key string, at place) {
	switch e := err.(type) {
	case nil:
	case Fault:
		l.fault(cmp.Or(e.at, at), cmp.Or(e.key, key), e.problem, e.hint)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			l.take(one, key, at)
		}
	case interface{ Unwrap() error }:
		l.take(e.Unwrap(), key, at)
	default:
		l.fault(at, key, strings.Join(strings.Fields(err.Error()), " "), "")
	}
}

// err joins the faults in the order of their places; it returns nil if there are none.
func (l *loader) err() error {
	slices.SortStableFunc(l.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.at.layer, b.at.layer), cmp.Compare(a.at.line, b.at.line))
	})
	var errs []error
	for _, f := range l.faults {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// suggest returns "did you mean X?" for the word nearest to the one given, or "".
func suggest(word string, words []string) string {
	if w := Nearest(word, words); w != "" {
		return "did you mean " + w + "?"
	}
	return ""
}

// Nearest returns the one of words that word is probably a typing error for, or "". Of dotted keys the last parts
// count most: timeout is near probe.timeout.
func Nearest(word string, words []string) string {
	last := func(key string) string {
		return strings.TrimPrefix(key[strings.LastIndexByte(key, '.')+1:], "PMCHECK_")
	}
	like := func(a, b string) float64 { return smetrics.JaroWinkler(strings.ToLower(a), strings.ToLower(b), 0.7, 4) }
	best, most := "", 0.87
	for _, w := range words {
		a, b := last(word), last(w)
		if l := like(a, b) + like(word, w)/100; l > most && max(len(a), len(b))-min(len(a), len(b)) <= 2 {
			best, most = w, l
		}
	}
	return best
}

// show returns text for a one-line message: quoted if it is not a plain word, and
// truncated if it is long.
func show(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	special := func(r rune) bool { return r <= ' ' || r >= 0x7f && r != '…' || r == '"' }
	if text == "" || strings.ContainsFunc(text, special) {
		return strconv.Quote(text)
	}
	return text
}
