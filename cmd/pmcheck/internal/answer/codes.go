package answer

import (
	"net/url"
	"strconv"
	"strings"
)

// ParseCodes reads the query of a check. The problem is empty if the query is
// well formed; it never repeats what the client sent.
func ParseCodes(query string) (codes Codes, problem string) {
	if query == "" {
		return Codes{}, ""
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Codes{}, "malformed query"
	}
	for key, list := range values {
		var into *int
		switch key {
		case "drain":
			into = &codes.Drain
		case "maint":
			into = &codes.Maint
		default:
			return Codes{}, "unknown parameter: drain and maint are known"
		}
		if len(list) != 1 {
			return Codes{}, "parameter given twice"
		}
		code, err := strconv.Atoi(list[0])
		if err != nil || code < 200 || code > 599 || strings.TrimLeft(list[0], "0123456789") != "" {
			return Codes{}, "a status code is a number from 200 to 599"
		}
		*into = code
	}
	return codes, ""
}

// ForDrain returns the code for drain, with the default in place of zero.
func (c Codes) ForDrain() int { return orUnavailable(c.Drain) }

// ForMaint returns the code for maint, with the default in place of zero.
func (c Codes) ForMaint() int { return orUnavailable(c.Maint) }
