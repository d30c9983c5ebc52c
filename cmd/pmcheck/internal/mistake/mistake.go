// Package mistake has the mistakes that operators make in configuration files: where each is, and how it is told.
package mistake

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Mistake is one mistake in a configuration. It is an error.
type Mistake struct {
	At      Place
	Key     string // of the setting; empty if it is about a whole file
	Problem string // what is wrong, with a hint at what to write instead
}

// Error returns "origin: key: problem (hint)" in one line, without the parts that are empty.
func (m Mistake) Error() string {
	var parts []string
	for _, part := range []string{m.At.String(), m.Key, m.Problem} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// A Place is where a value came from: a line of a file, the file as a whole (line 0), or what takes the place of
// its name for other sources. The zero value is the default.
type Place struct {
	File string
	Line int
}

// String returns the place as an origin.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Problem returns the error of a value that cannot be used, for a Mistake. The hint may be empty.
func Problem(problem, hint string) error {
	if hint != "" {
		problem += " (" + hint + ")"
	}
	return errors.New(problem)
}

// Join joins mistakes in the order of their places; it returns nil if there are none.
func Join(mistakes []Mistake) error {
	slices.SortStableFunc(mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line))
	})

	var errs []error
	for _, m := range mistakes {
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// Places returns the places of the mistakes that an error joins.
func Places(err error) (list []Place) {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, one := range joined.Unwrap() {
			list = append(list, Places(one)...)
		}
		return list
	}
	if m, is := errors.AsType[Mistake](err); is {
		list = append(list, m.At)
	}
	return list
}
