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

// isIn reports whether one of the faults that an error joins is at a place.
func isIn(at place, err error) bool {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return isIn(at, one) })
	}
	fault, is := errors.AsType[Fault](err)
	return is && fault.at == at
}

// suggest returns a hint at the setting that an unknown one is probably a typing error for, or "". The last parts of
// the keys count most: timeout is near probe.timeout.
func suggest(key string, keys []string) (hint string) {
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	like := func(a, b string) float64 { return smetrics.JaroWinkler(a, b, 0.7, 4) }

	most := 0.87
	for _, candidate := range keys {
		likeness := like(last(key), last(candidate)) + like(key, candidate)/100
		if likeness > most {
			hint = "did you mean " + candidate + "?"
			most = likeness
		}
	}
	return hint
}
