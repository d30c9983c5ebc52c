package check_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// TestJudgeConcludesFromSuccessiveResults: above all, saturation is no fault, and a stopped process is.
func TestJudgeConcludesFromSuccessiveResults(t *testing.T) {
	type results []check.Result
	start := time.Now()
	at := func(seconds int, reason check.Reason) check.Result {
		return result(start.Add(time.Duration(seconds)*time.Second), reason)
	}
	good := func(s int) check.Result { return at(s, check.OK) }
	refused := func(s int) check.Result { return at(s, puppetclient.Refused) }
	silent := func(s int) check.Result { return at(s, puppetclient.Timeout) }
	saturated := func(s int) check.Result { r := silent(s); r.Saturated = true; return r }
	const silence = puppetclient.Timeout
	for _, tt := range []struct {
		name    string
		results results
		want    check.Health
		reason  check.Reason
	}{
		{"nothing known", nil, check.Unknown, check.NotProbed},
		{"refused", results{refused(0)}, check.Unhealthy, puppetclient.Refused},
		{"good again", results{refused(0), good(1)}, check.Healthy, check.OK},
		{"a fault", results{good(0), at(1, check.HTTPError)}, check.Unhealthy, check.HTTPError},
		{"our own", results{good(0), at(1, puppetclient.OwnCertRefused)}, check.Unknown, puppetclient.OwnCertRefused},
		{"denied", results{good(0), at(1, check.AuthDenied)}, check.Unknown, check.AuthDenied},
		{"starting", results{at(0, check.StateStarting)}, check.Warming, check.StateStarting},

		{"silent", results{good(0), silent(1)}, check.Unhealthy, silence},
		{"saturated", results{good(0), saturated(1)}, check.Busy, check.JRubyBusy},
		{"for long", results{good(0), saturated(1), saturated(119)}, check.Busy, check.JRubyBusy},
		{"for too long", results{good(0), saturated(1), saturated(120)}, check.Unhealthy, silence},
		{"out until it answers", results{good(0), saturated(120), saturated(121)}, check.Unhealthy, silence},
		{"answered between", results{good(0), saturated(60), good(70), saturated(180)}, check.Busy, check.JRubyBusy},
		{"always saturated", results{saturated(0)}, check.Unhealthy, silence},
		{"stopped while saturated", results{good(0), saturated(1), silent(2)}, check.Unhealthy, silence},
		{"continued", results{good(0), silent(1), saturated(2)}, check.Unhealthy, silence},
		{"killed while saturated", results{good(0), saturated(1), refused(2)}, check.Unhealthy, puppetclient.Refused},
	} {
		j := check.Judge{StuckAfter: 2 * time.Minute}
		for _, r := range tt.results {
			j.Observe(r)
		}
		if got := j.Verdict().At(start); got.Health != tt.want || got.Reason != tt.reason {
			t.Errorf("%s: %s: %s; want %s: %s", tt.name, got.Health, got.Reason, tt.want, tt.reason)
		}
	}
}

func TestVerdictExpires(t *testing.T) {
	j := check.Judge{MaxAge: 3 * time.Second}
	asked := time.Now()
	v := j.Observe(result(asked, check.OK))
	if got := v.At(asked.Add(3*time.Second - 1)); got.Health != check.Healthy {
		t.Errorf("%s just before it expires, want healthy", got.Health)
	}
	got := v.At(asked.Add(3 * time.Second))
	if got.Health != check.Unknown || got.Reason != check.Stale || got.Health.Serves() {
		t.Errorf("%s: %s when it expires, want unknown: stale", got.Health, got.Reason)
	}
	if (check.Verdict{}).At(asked).Health.Serves() {
		t.Error("a master that was never probed serves")
	}
}

func result(asked time.Time, reason check.Reason) check.Result {
	r := check.Result{Asked: asked}
	if reason != check.OK {
		r.Fault = &check.Fault{Reason: reason}
	}
	return r
}
