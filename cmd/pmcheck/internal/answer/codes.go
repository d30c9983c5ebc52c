package answer

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
)

// Codes are the status codes that a balancer chose. The zero value means 503
// for all of them.
type Codes struct {
	Drain     int `json:"drain_code"`     // while the mode is drain
	Maint     int `json:"maint_code"`     // while the mode is maint
	Unhealthy int `json:"unhealthy_code"` // while the verdict does not serve
}

// ForDrain returns the code for drain, with the default in place of zero.
func (c Codes) ForDrain() int { return cmp.Or(c.Drain, http.StatusServiceUnavailable) }

// ForMaint returns the code for maint, with the default in place of zero.
func (c Codes) ForMaint() int { return cmp.Or(c.Maint, http.StatusServiceUnavailable) }

// ForUnhealthy returns the code for a verdict that does not serve, with the default in place of zero.
func (c Codes) ForUnhealthy() int { return cmp.Or(c.Unhealthy, http.StatusServiceUnavailable) }

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
		case "unhealthy":
			into = &codes.Unhealthy
		default:
			return Codes{}, "unknown parameter: use drain, maint or unhealthy"
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
