package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// fromEnvironment stands before the name of a variable in a place.
const fromEnvironment = "environment "

func (l *loader) mistake(at mistake.Place, key, problem, hint string) {
	one := mistake.Mistake{At: at, Key: key, Problem: mistake.Problem(problem, hint).Error()}
	l.mistakes = append(l.mistakes, one)
}

// take records the mistakes in an error of a decoder, which joins the errors of the items of a list.
func (l *loader) take(err error, key string, at mistake.Place) {
	switch e := err.(type) {
	case nil:
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			l.take(one, key, at)
		}
	case interface{ Unwrap() error }:
		l.take(e.Unwrap(), key, at)
	default:
		l.mistake(at, key, err.Error(), "")
	}
}

// suggest returns a hint at the setting that an unknown one is probably a slip of, or "". A setting in the same section
// is likelier than one in another, and there the last part of a key counts: timeout is meant to be probe.timeout.
func suggest(key string, keys []string) (hint string) {
	section, name := cutLast(key)
	var here []string
	elsewhere := map[string][]string{} // by the last part
	for _, known := range keys {
		inside, last := cutLast(known)
		if inside == section {
			here = append(here, last)
		}
		elsewhere[last] = append(elsewhere[last], known)
	}

	if meant := text.Meant(name, here); meant != "" {
		return "did you mean " + section + meant + "?"
	}
	meant := name
	if elsewhere[name] == nil {
		meant = text.Meant(name, slices.Collect(maps.Keys(elsewhere)))
	}
	if meant == "" {
		return ""
	}
	return "did you mean " + strings.Join(elsewhere[meant], " or ") + "?"
}

// cutLast returns a key in two: the section, with its dot, and the last part.
func cutLast(key string) (section, name string) {
	at := strings.LastIndexByte(key, '.') + 1
	return key[:at], key[at:]
}
