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

// faults collects the mistakes of one Load.
type faults struct{ list []Fault }

func (f *faults) add(at place, key, problem, hint string) {
	f.list = append(f.list, Fault{key, problem, hint, at})
}

// take records the faults in an error of mapstructure, which names each item of a list. Those of
// a variable or flag do not know their place.
func (f *faults) take(err error, key string, at place) {
	switch e := err.(type) {
	case nil:
	case Fault:
		f.add(cmp.Or(e.at, at), key, e.problem, e.hint)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			f.take(one, key, at)
		}
	case interface{ Unwrap() error }:
		f.take(e.Unwrap(), key, at)
	default:
		f.add(at, key, err.Error(), "")
	}
}

// err joins the faults in the order of their places; it returns nil if there are none.
func (f *faults) err() error {
	slices.SortStableFunc(f.list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.at.layer, b.at.layer), cmp.Compare(a.at.line, b.at.line))
	})
	var errs []error
	for _, fault := range f.list {
		errs = append(errs, fault)
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

// Nearest returns the one of words that word is probably a typing error for, or "". In
// a word of up to five letters, one letter may be wrong, or two neighbours swapped: two
// wrong letters would turn host into hold. The last part of a key counts too: timeout
// is near probe.timeout.
func Nearest(word string, words []string) string {
	word = strings.ToLower(word)
	n := len(lastPart(word))
	limit := min(n-1, 1)
	if n > 5 {
		limit = min(3, 1+n/4)
	}
	best := ""
	for _, w := range words {
		d := min(distance(word, w), distance(word, lastPart(w))+1)
		if d <= limit {
			best, limit = w, d-1
		}
	}
	return best
}

func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// distance returns the number of typing errors between two words.
func distance(a, b string) int {
	if swapped(a, b) {
		return 1
	}
	return smetrics.WagnerFischer(a, b, 1, 1, 1)
}

// swapped reports whether the words differ only in two neighbouring letters that are
// swapped.
func swapped(a, b string) bool {
	for i := 0; i+1 < len(a) && len(a) == len(b); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// show returns text for a one-line message: quoted if it is not a plain word, and
// truncated if it is long.
func show(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	plain := func(r rune) bool { return r > ' ' && r < 0x7f && r != '"' }
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) && r != '…' }) < 0 {
		return text
	}
	return strconv.Quote(text)
}

// join returns words as an enumeration: a, b and c.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
