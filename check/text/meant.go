package text

import (
	"slices"
	"strings"
)

// Meant returns the one of the names that a word was probably meant to be: a word with one slip, or cut short, or
// with more behind it. It returns "" if there is none, or more than one.
func Meant(word string, names []string) string {
	word = strings.ToLower(word)

	var similar []string
	for _, name := range names {
		if oneSlip(word, name) || begins(word, name) || begins(name, word) {
			similar = append(similar, name)
		}
	}
	if len(similar) != 1 {
		return ""
	}
	return similar[0]
}

// begins reports whether one word is the beginning of another, and long enough to tell it from most others.
func begins(part, whole string) bool { return len(part) >= 4 && strings.HasPrefix(whole, part) }

// oneSlip reports whether one slip makes one word of the other: a letter too many, a letter too few, another letter, or
// two letters that changed places.
func oneSlip(typed, name string) bool {
	typed, name = withoutCommonEnds(typed, name)

	switch max(len(typed), len(name)) {
	case 1: // a letter too many or too few, or another letter
		return true
	case 2: // perhaps two letters that changed places
		letters := []byte(typed)
		slices.Reverse(letters)
		return string(letters) == name
	}
	return false
}

// withoutCommonEnds returns what is left of two words without the letters with which both begin, and then without the
// letters with which both end.
func withoutCommonEnds(a, b string) (restA, restB string) {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	return a, b
}
