package check

import (
	"strings"
	"unicode"
)

// clean makes outside text fit to be shown: valid UTF-8 on one line, without
// control characters, of at most limit bytes.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 4*limit)], ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}
