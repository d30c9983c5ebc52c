package answer

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/drain"
)

func TestDecideCombinesModeAndVerdict(t *testing.T) {
	none := Codes{}
	graceful := Codes{Drain: 404}
	healthOnly := Codes{Drain: 200, Maint: 200}
	holdOnly := Codes{Drain: 404, Unhealthy: 299}
	down := "unhealthy: refused"
	for _, tt := range []struct {
		mode   drain.Mode
		health check.Health
		codes  Codes
		want   Answer
	}{
		{drain.Ready, check.Healthy, none, Answer{200, Serving}},
		{drain.Ready, check.Busy, none, Answer{200, Serving}},
		{drain.Ready, check.Warming, none, Answer{503, "warming: refused"}},
		{drain.Ready, check.Unhealthy, none, Answer{503, down}},
		{drain.Ready, check.Unknown, none, Answer{503, "unknown: refused"}},
		{drain.Ready, "", none, Answer{503, ": refused"}},
		{drain.Drain, check.Healthy, none, Answer{503, "drain"}},
		{drain.Maint, check.Healthy, none, Answer{503, "maint"}},
		{"redy", check.Healthy, none, Answer{503, "maint"}},
		{drain.Ready, check.Healthy, graceful, Answer{200, Serving}},
		{drain.Drain, check.Healthy, graceful, Answer{404, "drain"}},
		{drain.Maint, check.Healthy, graceful, Answer{503, "maint"}},
		{drain.Drain, check.Healthy, healthOnly, Answer{200, Serving}},
		{drain.Drain, check.Unhealthy, healthOnly, Answer{503, down}},
		{drain.Maint, check.Busy, healthOnly, Answer{200, Serving}},
		{drain.Maint, check.Unknown, healthOnly, Answer{503, "unknown: refused"}},
		{drain.Drain, check.Unhealthy, Codes{Drain: 399}, Answer{503, down}},
		{drain.Drain, check.Healthy, Codes{Drain: 400}, Answer{400, "drain"}},
		{drain.Ready, check.Unhealthy, holdOnly, Answer{299, Serving}},
		{drain.Ready, check.Unknown, holdOnly, Answer{299, Serving}},
		{drain.Ready, check.Unhealthy, Codes{Unhealthy: 399}, Answer{399, Serving}},
		{drain.Ready, check.Unhealthy, Codes{Unhealthy: 400}, Answer{400, down}},
		{drain.Ready, check.Warming, Codes{Unhealthy: 500}, Answer{500, "warming: refused"}},
		{drain.Drain, check.Unhealthy, holdOnly, Answer{404, "drain"}},
		{drain.Maint, check.Unhealthy, holdOnly, Answer{503, "maint"}},
		{drain.Drain, check.Busy, Codes{Drain: 201}, Answer{201, Serving}},
	} {
		v := check.Verdict{Health: tt.health, Reason: puppetclient.Refused}
		if got := Decide(Moment{Mode: tt.mode, Verdict: v}, tt.codes, true); got != tt.want {
			t.Errorf("%s, %s, %+v: got %+v, want %+v", tt.mode, tt.health, tt.codes, got, tt.want)
		}
		ready := Decide(Moment{Mode: drain.Ready, Verdict: v}, tt.codes, true)
		if got := Decide(Moment{Mode: tt.mode, Verdict: v}, tt.codes, false); got != ready {
			t.Errorf("%s, %s, %+v, must not lose it: got %+v, want %+v", tt.mode, tt.health, tt.codes, got, ready)
		}
	}
}

func TestParseCodesIsStrict(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  Codes
		ok    bool
	}{
		{"", Codes{}, true},
		{"drain=404", Codes{Drain: 404}, true},
		{"drain=200&maint=599", Codes{Drain: 200, Maint: 599}, true},
		{"drain=404&unhealthy=200", Codes{Drain: 404, Unhealthy: 200}, true},
		{"busy=503", Codes{}, false},
		{"drain=199", Codes{}, false},
		{"drain=600", Codes{}, false},
		{"drain=+404", Codes{}, false},
		{"drain=404&drain=404", Codes{}, false},
		{"drain=404;maint=503", Codes{}, false},
		{"drain=%zz", Codes{}, false},
		{"drain=99999999999999999999", Codes{}, false},
	} {
		got, problem := ParseCodes(tt.query)
		if (problem == "") != tt.ok || (tt.ok && got != tt.want) {
			t.Errorf("%q: got %+v, %q", tt.query, got, problem)
		}
	}
}

// FuzzParseCodes: for any query, the answer has a code that net/http can send, and
// the problem does not repeat the query.
func FuzzParseCodes(f *testing.F) {
	for _, seed := range []string{
		"", "drain=404", "maint=200&drain=599", "drain=%34%30%34", "a=b", "drain=404;x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		codes, problem := ParseCodes(query)
		for _, mode := range []drain.Mode{drain.Ready, drain.Drain, drain.Maint} {
			for _, health := range []check.Health{check.Healthy, check.Busy, check.Unhealthy} {
				a := Decide(Moment{Mode: mode, Verdict: check.Verdict{Health: health, Reason: check.OK}}, codes, true)
				if a.Code < 200 || a.Code > 599 {
					t.Errorf("%q, %s, %s: code %d", query, mode, health, a.Code)
				}
				if good := a.Code < 400; good != strings.Contains(a.Body, "running") {
					t.Errorf("%q, %s, %s: %+v", query, mode, health, a)
				}
			}
		}
		if _, err := url.ParseQuery(query); err != nil && problem == "" {
			t.Errorf("%q was accepted", query)
		}
		if strings.Contains(problem, "running") {
			t.Errorf("%q: %q", query, problem)
		}
	})
}
