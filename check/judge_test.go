package check_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

func TestJudgeConfirmsBeforeItConcludes(t *testing.T) {
	const (
		good    = check.OK
		refused = check.Refused
		failing = check.HTTPError
		silence = check.Timeout
		denied  = check.AuthDenied
	)
	tests := []struct {
		name    string
		fall    int
		results []check.Reason
		want    check.Health
		reason  check.Reason
		confirm bool
	}{
		{"nothing known", 1, nil, check.Unknown, check.NotProbed, false},
		{"first good result counts at once", 3, []check.Reason{good}, check.Healthy, check.OK, false},
		{"first fault counts at once", 3, []check.Reason{refused}, check.Unhealthy, refused, false},
		{"first silence counts at once", 3, []check.Reason{silence}, check.Unhealthy, silence, false},
		{"definite fault waits for confirmation", 1, []check.Reason{good, refused}, check.Healthy, check.OK, true},
		{"definite fault confirmed", 1, []check.Reason{good, refused, refused}, check.Unhealthy, refused, false},
		{"confirmed by another fault", 1, []check.Reason{good, refused, failing}, check.Unhealthy, failing, false},
		{"confirmed by silence", 3, []check.Reason{good, refused, silence}, check.Unhealthy, silence, false},
		{"not confirmed", 1, []check.Reason{good, refused, good}, check.Healthy, check.OK, false},
		{"silence below fall", 3, []check.Reason{good, silence, silence}, check.Healthy, check.OK, true},
		{"silence reaches fall", 3, []check.Reason{good, silence, silence, silence}, check.Unhealthy, silence, false},
		{"silence with fall 1", 1, []check.Reason{good, silence}, check.Unhealthy, silence, false},
		{"silence interrupted", 2, []check.Reason{good, silence, good, silence}, check.Healthy, check.OK, true},
		{"silence, then a definite fault", 3, []check.Reason{good, silence, refused}, check.Unhealthy, refused, false},
		{"our own fault is no verdict on the master", 1, []check.Reason{good, denied, denied}, check.Unknown, denied,
			false},
		{"starting is warming", 1, []check.Reason{check.StateStarting}, check.Warming, check.StateStarting, false},
		{"zero fall means one", 0, []check.Reason{refused, good}, check.Healthy, check.OK, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := check.Judge{Fall: tt.fall, MaxAge: time.Minute}
			now := time.Now()
			confirm := false
			for _, reason := range tt.results {
				_, confirm = j.Observe(result(now, reason))
			}
			got := j.Verdict().At(now)
			if got.Health != tt.want || got.Reason != tt.reason || confirm != tt.confirm {
				t.Errorf("%s: %s, confirm %v; want %s: %s, confirm %v", got.Health, got.Reason, confirm, tt.want, tt.reason,
					tt.confirm)
			}
		})
	}
}

// TestSaturationIsNoFaultAndAStoppedProcessIs decides on a master that is silent.
func TestSaturationIsNoFaultAndAStoppedProcessIs(t *testing.T) {
	silent := func(s check.Silence) check.Result {
		return check.Result{Fault: &check.Fault{Reason: check.Timeout}, Silence: s}
	}
	good, refused := result(time.Time{}, check.OK), result(time.Time{}, check.Refused)
	saturated, halted, unexplained := silent(check.Saturated), silent(check.Halted), silent(check.Unexplained)
	type step struct {
		at     time.Duration
		result check.Result
	}
	const second, minute = time.Second, time.Minute
	for _, tt := range []struct {
		name    string
		fall    int
		steps   []step
		want    check.Health
		reason  check.Reason
		confirm bool
	}{
		{"saturated", 1, []step{{0, good}, {second, saturated}}, check.Busy, check.JRubyBusy, false},
		{"saturated for long", 1, []step{{0, good}, {second, saturated}, {119 * second, saturated}}, check.Busy,
			check.JRubyBusy, false},
		{"saturated for too long", 1, []step{{0, good}, {second, saturated}, {2 * minute, saturated}}, check.Unhealthy,
			check.Timeout, false},
		{"it stays out until it answers", 1, []step{{0, good}, {2 * minute, saturated}, {121 * second, saturated}},
			check.Unhealthy, check.Timeout, false},
		{"an answer in between", 1, []step{{0, good}, {minute, saturated}, {70 * second, good}, {3 * minute, saturated}},
			check.Busy, check.JRubyBusy, false},
		{"never answered", 1, []step{{0, saturated}}, check.Unhealthy, check.Timeout, false},
		{"stopped", 3, []step{{0, good}, {second, halted}}, check.Unhealthy, check.Timeout, false},
		{"stopped while saturated", 3, []step{{0, good}, {second, saturated}, {2 * second, halted}}, check.Unhealthy,
			check.Timeout, false},
		{"stopped, continued, not answered yet", 1, []step{{0, good}, {second, halted}, {2 * second, saturated}},
			check.Unhealthy, check.Timeout, false},
		{"killed while saturated", 3, []step{{0, good}, {second, saturated}, {2 * second, refused}}, check.Unhealthy,
			check.Refused, false},
		{"saturated after a connection was lost", 1, []step{{0, good}, {second, refused}, {2 * second, saturated}},
			check.Busy, check.JRubyBusy, false},
		{"on another host", 2, []step{{0, good}, {second, unexplained}}, check.Healthy, check.OK, true},
		{"on another host, again", 2, []step{{0, good}, {second, unexplained}, {2 * second, unexplained}},
			check.Unhealthy, check.Timeout, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, start, confirm := check.Judge{Fall: tt.fall, StuckAfter: 2 * minute}, time.Now(), false
			for _, s := range tt.steps {
				s.result.Asked = start.Add(s.at)
				_, confirm = j.Observe(s.result)
			}
			if got := j.Verdict(); got.Health != tt.want || got.Reason != tt.reason || confirm != tt.confirm {
				t.Errorf("%s: %s, confirm %v; want %s: %s, confirm %v", got.Health, got.Reason, confirm, tt.want, tt.reason,
					tt.confirm)
			}
		})
	}
}

func TestVerdictExpires(t *testing.T) {
	j := check.Judge{MaxAge: 3 * time.Second}
	asked := time.Now()
	v, _ := j.Observe(result(asked, check.OK))
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

func TestTimeoutBelowFallDoesNotRenewTheVerdict(t *testing.T) {
	j := check.Judge{Fall: 5, MaxAge: 3 * time.Second}
	asked := time.Now()
	j.Observe(result(asked, check.OK))
	v, _ := j.Observe(result(asked.Add(2*time.Second), check.Timeout))
	if got := v.At(asked.Add(4 * time.Second)); got.Reason != check.Stale {
		t.Errorf("a timeout renewed the verdict: %s: %s", got.Health, got.Reason)
	}
}

func TestSinceIsWhenTheVerdictChanged(t *testing.T) {
	var j check.Judge
	start := time.Now()
	first, _ := j.Observe(result(start, check.OK))
	again, _ := j.Observe(result(start.Add(time.Minute), check.OK))
	if !again.Since.Equal(first.Since) || !again.Checked.Equal(start.Add(time.Minute)) {
		t.Errorf("since %v checked %v; want %v and a minute later", again.Since, again.Checked, first.Since)
	}
	j.Observe(result(start.Add(2*time.Minute), check.Refused))
	changed, _ := j.Observe(result(start.Add(3*time.Minute), check.Refused))
	if !changed.Since.Equal(start.Add(3 * time.Minute)) {
		t.Errorf("since %v, want when the fault was confirmed", changed.Since)
	}
}

func result(asked time.Time, reason check.Reason) check.Result {
	r := check.Result{Asked: asked}
	if reason != check.OK {
		r.Fault = &check.Fault{Reason: reason}
	}
	return r
}
