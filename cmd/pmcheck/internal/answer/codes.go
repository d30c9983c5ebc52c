package answer

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
)

// Codes are the status codes that a balancer chose. The zero value means 503
// for both modes.
type Codes struct {
	Drain int // while the mode is drain
	Maint int // while the mode is maint
}

// ForDrain returns the code for drain, with the default in place of zero.
func (c Codes) ForDrain() int { return cmp.Or(c.Drain, http.StatusServiceUnavailable) }

// ForMaint returns the code for maint, with the default in place of zero.
func (c Codes) ForMaint() int { return cmp.Or(c.Maint, http.StatusServiceUnavailable) }

// ParseCodes parses the query of a balancer's request. The problem is empty if the
// query is well formed; it never repeats what the client sent.
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
			return Codes{}, "unknown parameter: use drain or maint"
		}
		if len(list) != 1 {
			return Codes{}, "parameter given more than once"
		}
		code, err := strconv.ParseUint(list[0], 10, 16) // unlike Atoi, it takes no sign
		if err != nil || code < 200 || code > 599 {
			return Codes{}, "a status code is a number from 200 to 599"
		}
		*into = int(code)
	}
	return codes, ""
}
