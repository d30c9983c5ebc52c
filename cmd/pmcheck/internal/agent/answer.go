package agent

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// Answer is what a balancer is told: a status code and one line.
type Answer struct {
	Code int    `json:"code"`
	Body string `json:"body"`
}

// Serving is the body of a good answer. Balancers may look for the word
// running, as they do in Puppet Server's own answer; no other body has it.
const Serving = "Puppet Server is running."

// Codes are the status codes that a balancer asked for. The zero value means
// 503 for both.
type Codes struct {
	Drain int // while the mode is drain
	Maint int // while the mode is maint
}

// Decide is where what the operators want meets what is true.
//
//	mode    verdict serves   answer
//	ready   yes              200 Puppet Server is running.
//	ready   no               503 verdict: reason
//	drain   any              the code for drain, 503 by default; body drain
//	maint   any              the code for maint, 503 by default; body maint
//
// A code below 400 means well to a balancer: whoever chooses one asks for the
// verdict alone, and gets the code only while the verdict serves.
func Decide(mode drain.Mode, v check.Verdict, codes Codes) Answer {
	code := http.StatusOK
	switch mode {
	case drain.Ready:
	case drain.Drain:
		code = orUnavailable(codes.Drain)
	default: // maint, and whatever should not be
		mode, code = drain.Maint, orUnavailable(codes.Maint)
	}
	switch {
	case code >= http.StatusBadRequest:
		return Answer{Code: code, Body: string(mode)}
	case v.Health.Serves():
		return Answer{Code: code, Body: Serving}
	}
	return Answer{Code: http.StatusServiceUnavailable, Body: string(v.Health) + ": " + string(v.Reason)}
}

func orUnavailable(code int) int {
	if code == 0 {
		return http.StatusServiceUnavailable
	}
	return code
}

// parseCodes reads the query of a check. The problem is empty if it is well
// formed; it never repeats what the client sent.
func parseCodes(query string) (codes Codes, problem string) {
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
