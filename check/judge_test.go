package check_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
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
	listener := func(r check.Result, id string) check.Result { r.Listener = id; return r }
	denied := func(r check.Result) check.Result { r.Denied = &check.Fault{Reason: check.AuthDenied}; return r }
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
		{"refuses our certificate", results{good(0), at(1, puppetclient.OwnCertRefused)}, check.Unhealthy,
			puppetclient.OwnCertRefused},
		{"a file of ours", results{good(0), at(1, puppetclient.OwnFiles)}, check.Healthy, check.OK},
		{"a file of ours, from the start", results{at(0, puppetclient.OwnFiles)}, check.Unknown, puppetclient.OwnFiles},
		{"a file of ours, beside a fault", results{refused(0), at(1, puppetclient.OwnFiles)}, check.Unhealthy,
			puppetclient.Refused},
		{"a file of ours, and another process",
			results{listener(good(0), "1"), listener(at(1, puppetclient.OwnFiles), "2")}, check.Unknown, puppetclient.OwnFiles},
		{"a file of ours, and the kernel does not tell who listens: two doubts",
			results{listener(good(0), "1"), listener(at(1, puppetclient.OwnFiles), "")}, check.Unknown, puppetclient.OwnFiles},
		{"a file of ours for too long", results{good(0), at(14, puppetclient.OwnFiles), at(15, puppetclient.OwnFiles)},
			check.Unknown, puppetclient.OwnFiles},
		{"stopped beside a file of ours", results{good(0), at(1, puppetclient.OwnFiles), silent(2)}, check.Unhealthy,
			silence},
		{"denied", results{good(0), at(1, check.AuthDenied)}, check.Healthy, check.OK},
		{"starting", results{at(0, check.StateStarting)}, check.Warming, check.StateStarting},

		{"silent", results{good(0), silent(1)}, check.Unhealthy, silence},
		{"saturated", results{good(0), saturated(1)}, check.Busy, check.Saturated},
		{"for long", results{good(0), saturated(1), saturated(119)}, check.Busy, check.Saturated},
		{"for too long", results{good(0), saturated(1), saturated(120)}, check.Unhealthy, silence},
		{"out until it answers", results{good(0), saturated(120), saturated(121)}, check.Unhealthy, silence},
		{"answered between", results{good(0), saturated(60), good(70), saturated(180)}, check.Busy, check.Saturated},
		{"always saturated", results{saturated(0)}, check.Unhealthy, silence},
		{"stopped while saturated", results{good(0), saturated(1), silent(2)}, check.Unhealthy, silence},
		{"continued", results{good(0), silent(1), saturated(2)}, check.Unhealthy, silence},
		{"another process while saturated", results{listener(good(0), "1"), listener(saturated(1), "2")}, check.Unhealthy,
			silence},
		{"saturated, and the kernel does not tell who listens",
			results{listener(good(0), "1"), listener(saturated(1), "")}, check.Busy, check.Saturated},
		{"saturated, and it did not tell when the master answered",
			results{listener(good(0), ""), listener(saturated(1), "1")}, check.Busy, check.Saturated},
		{"accepts no new connection", results{good(0), at(1, check.NotAccepting)}, check.Unhealthy, check.NotAccepting},
		{"saturated since it accepts none", results{good(0), at(1, check.NotAccepting), saturated(2)}, check.Unhealthy,
			silence},
		{"denied by the master itself", results{denied(good(0))}, check.Healthy, check.OK},
		{"saturated since", results{denied(good(0)), saturated(1)}, check.Busy, check.Saturated},
		{"stopped since", results{denied(good(0)), silent(1)}, check.Unhealthy, silence},
		{"killed while saturated", results{good(0), saturated(1), refused(2)}, check.Unhealthy, puppetclient.Refused},
	} {
		j := check.Judge{MaxAge: 15 * time.Second, StuckAfter: 2 * time.Minute}
		for _, r := range tt.results {
			j.Observe(r)
		}
		if got := j.Verdict().At(start); got.Health != tt.want || got.Reason != tt.reason {
			t.Errorf("%s: %s: %s; want %s: %s", tt.name, got.Health, got.Reason, tt.want, tt.reason)
		}
	}
}

// TestANewJudgeGoesOnFromTheMemoryOfAnother, of the same process, and of nothing else: a restart of the daemon must
// neither take a saturated master out nor bring one back.
func TestANewJudgeGoesOnFromTheMemoryOfAnother(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) check.Memory { return check.Memory{Answered: now.Add(-d), Listener: "1"} }
	saturated := func(r check.Result) check.Result {
		r.Saturated, r.Fault = true, &check.Fault{Reason: puppetclient.Timeout}
		return r
	}
	listens := func(id string, reason check.Reason) check.Result {
		r := result(now, reason)
		r.Listener = id
		return r
	}
	silent := listens("1", puppetclient.Timeout)
	for _, tt := range []struct {
		name   string
		memory check.Memory
		first  check.Result
		want   check.Health
	}{
		{"answered a second ago", ago(time.Second), saturated(silent), check.Busy},
		{"answered almost two minutes ago", ago(2*time.Minute - 1), saturated(silent), check.Busy},
		{"answered two minutes ago: deadlocked", ago(2 * time.Minute), saturated(silent), check.Unhealthy},
		{"answered before a clock was set by a year", ago(365 * 24 * time.Hour), saturated(silent), check.Unhealthy},
		{"will answer in a second", ago(-time.Second), saturated(silent), check.Unhealthy},
		{"will answer in a year", ago(-365 * 24 * time.Hour), saturated(silent), check.Unhealthy},
		{"never answered", check.Memory{Listener: "1"}, saturated(silent), check.Unhealthy},
		{"nothing remembered", check.Memory{}, saturated(silent), check.Unhealthy},
		{"nothing known of the process, then and now", check.Memory{Answered: now}, saturated(listens("", check.OK)),
			check.Unhealthy},
		{"nothing known of the process now", ago(time.Second), saturated(listens("", check.OK)), check.Unhealthy},
		{"another process, as after a boot: it accepts before it answers", ago(time.Second),
			saturated(listens("2", check.OK)), check.Unhealthy},
		{"stopped", ago(time.Second), silent, check.Unhealthy},
		{"refused", ago(time.Second), listens("", puppetclient.Refused), check.Unhealthy},
		{"refuses its agents", ago(time.Second), listens("1", puppetclient.CRLExpired), check.Unhealthy},
		{"fails", ago(time.Second), listens("1", check.StateError), check.Unhealthy},
		{"denied to any client", ago(time.Second), listens("1", check.AuthDenied), check.Unknown},
		{"answers", ago(time.Hour), listens("1", check.OK), check.Healthy},
	} {
		j := check.Judge{StuckAfter: 2 * time.Minute}
		j.Recall(tt.memory)
		if got := j.Verdict().At(now); got.Health != check.Unknown {
			t.Errorf("%s: %s before any probe", tt.name, got)
		}
		if got := j.Observe(tt.first); got.Health != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if serves := j.Verdict().Health.Serves(); serves != (j.Memory() != check.Memory{}) {
			t.Errorf("%s: serves %v, and leaves %+v", tt.name, serves, j.Memory())
		}
	}
}

// TestAJudgeLeavesNoDoubtfulMemory: what pmcheck was in doubt about when the master answered, and that the next daemon
// has no verdict yet, would be two doubts.
func TestAJudgeLeavesNoDoubtfulMemory(t *testing.T) {
	now := time.Now()
	doubt := errors.New("doubt")
	for _, tt := range []struct {
		name string
		set  func(*check.Result)
	}{
		{"not all files are in use", func(r *check.Result) { r.Warning = doubt }},
		{"no certificate", func(r *check.Result) { r.Anonymous = doubt }},
		{"the certificate has another name, or none is known", func(r *check.Result) { r.TLS = "TLS 1.3" }},
		{"the identity is guessed", func(r *check.Result) { r.Guessed = true }},
		{"auth.conf denies the status", func(r *check.Result) { r.Denied = &check.Fault{Reason: check.AuthDenied} }},
		{"the process is not known", func(r *check.Result) { r.Listener = "" }},
	} {
		good := check.Result{Asked: now, Listener: "1"}
		tt.set(&good)
		saturated := check.Result{Asked: now.Add(time.Second), Listener: good.Listener, Saturated: true,
			Fault: &check.Fault{Reason: puppetclient.Timeout}}
		first, next := check.Judge{StuckAfter: time.Minute}, check.Judge{StuckAfter: time.Minute}
		first.Observe(good)
		if v := first.Observe(saturated); v.Health != check.Busy {
			t.Errorf("%s: %s while it goes on, want busy", tt.name, v)
		}
		next.Recall(first.Memory())
		if v := next.Observe(saturated); v.Health != check.Unhealthy {
			t.Errorf("%s: %s for another, want unhealthy", tt.name, v)
		}
	}
}

// TestAGuessedIdentityIsASecondDoubt: the first probes of a new daemon meet a saturated master, of which another
// daemon has left a response.
func TestAGuessedIdentityIsASecondDoubt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		guessed bool
		want    check.Health
	}{
		{"known", false, check.Busy},
		{"guessed", true, check.Unhealthy},
	} {
		m := newMaster(t)
		must(0, m.Set(checktest.Saturated))
		p := newProber(t, m)
		p.Guessed, p.Wait = tt.guessed, 100*time.Millisecond
		p.Accepts = func(context.Context) (bool, error) { return true, nil }
		p.Listens = func() (check.Listening, error) { return check.Listening{ID: "1"}, nil }
		j := check.Judge{StuckAfter: time.Minute}
		j.Recall(check.Memory{Answered: time.Now(), Listener: "1"})
		if got := j.Observe(p.Probe(t.Context())); got.Health != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
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

// TestVerdictsAreToldApartByHealthAndReason: neither its time nor its detail makes a verdict another one.
func TestVerdictsAreToldApartByHealthAndReason(t *testing.T) {
	refused := check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Refused}
	for _, tt := range []struct {
		name  string
		other check.Verdict
		line  string
		same  bool
	}{
		{"a later one", check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Refused, Since: time.Now()},
			"unhealthy: refused", true},
		{"another reason", check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Timeout}, "unhealthy: timeout", false},
		{"another health", check.Verdict{Health: check.Busy, Reason: puppetclient.Refused}, "busy: refused", false},
		{"no fault", check.Verdict{Health: check.Healthy, Reason: check.OK}, "healthy", false},
	} {
		if got := refused.Same(tt.other); got != tt.same {
			t.Errorf("%s: the same: %v", tt.name, got)
		}
		if got := tt.other.String(); got != tt.line {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.line)
		}
	}
}
