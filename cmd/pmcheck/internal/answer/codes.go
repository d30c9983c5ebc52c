package answer

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/pmcheck/pmcheck/drain"
)

// Codes are the status codes that a balancer chose. The zero value means 503
// for all of them.
type Codes struct {
	Drain     int `json:"drain_code"`     // while the mode is drain
	Maint     int `json:"maint_code"`     // while the mode is maint
	Unhealthy int `json:"unhealthy_code"` // while the verdict does not serve
}

// Filled returns the codes with the default in place of zero.
func (c Codes) Filled() Codes {
	const usual = http.StatusServiceUnavailable
	return Codes{
		Drain:     cmp.Or(c.Drain, usual),
		Maint:     cmp.Or(c.Maint, usual),
		Unhealthy: cmp.Or(c.Unhealthy, usual),
	}
}

// All returns every code, with the default in place of zero.
func (c Codes) All() []int {
	c = c.Filled()
	return []int{c.Drain, c.Maint, c.Unhealthy}
}

// Hides reports whether the codes hide a mode from the balancer that chose them: it asks for the verdict.
func (c Codes) Hides(mode drain.Mode) bool {
	c = c.Filled()
	if mode == drain.Drain {
		return c.Drain < http.StatusBadRequest
	}
	return c.Maint < http.StatusBadRequest
}

// HidesVerdict reports whether the codes hide the verdict from the balancer that chose them: it asks for the hold.
func (c Codes) HidesVerdict() bool { return c.Filled().Unhealthy < http.StatusBadRequest }

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
