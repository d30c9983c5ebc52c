package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
)

// Fault is one mistake in a configuration. It is an error.
type Fault struct {
	at      place
	key     string // dotted; empty when it is about a whole file
	problem string // what is wrong, with a hint at what to write instead
}

// Error returns "origin: key: problem (hint)" in one line, without the parts that are empty.
func (f Fault) Error() string {
	var parts []string
	for _, part := range []string{f.at.String(), f.key, f.problem} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// wrong returns the error of a value that cannot be read. The hint may be empty.
func wrong(problem, hint string) error {
	if hint != "" {
		problem += " (" + hint + ")"
	}
	return errors.New(problem)
}

// A place is where a value came from: a line of a file, the file as a whole (line 0), or what takes the place of
// its name for other sources. The zero value is the default.
type place struct {
	file string
	line int
}

// fromEnvironment stands before the name of a variable in a place.
const fromEnvironment = "environment "

// String returns the place as an origin.
func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}

func (l *loader) fault(at place, key, problem, hint string) {
	l.faults = append(l.faults, Fault{at: at, key: key, problem: wrong(problem, hint).Error()})
}

// take records the faults in an error of a decoder, which joins the errors of the items of a list.
func (l *loader) take(err error, key string, at place) {
	switch e := err.(type) {
	case nil:
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			l.take(one, key, at)
		}
	case interface{ Unwrap() error }:
		l.take(e.Unwrap(), key, at)
	default:
		l.fault(at, key, err.Error(), "")
	}
}

// join joins faults in the order of their places; it returns nil if there are none.
func join(faults []Fault) error {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.at.file, b.at.file), cmp.Compare(a.at.line, b.at.line))
	})

	var errs []error
	for _, f := range faults {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// placesOf returns the places of the faults that an error joins.
func placesOf(err error) (list []place) {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, one := range joined.Unwrap() {
			list = append(list, placesOf(one)...)
		}
		return list
	}
	if fault, is := errors.AsType[Fault](err); is {
		list = append(list, fault.at)
	}
	return list
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
