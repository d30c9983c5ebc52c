package check_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
)

func newCompile(t *testing.T, m *checktest.Master) *check.Scheduled {
	t.Helper()
	return schedule(t, m, func(*check.CompileSettings) {})
}

func TestCompileFailsWhereAnAgentWould(t *testing.T) {
	const broken = `{"message":"Server Error: Could not parse for environment production:\u001b[31m Syntax error at '}' ` +
		`(file: site.pp, line: 3)","issue_kind":"RUNTIME_ERROR"}`
	catalog := func(status int, body string) func(*checktest.Master) {
		return func(m *checktest.Master) { m.SetCatalog(status, body) }
	}
	state := func(s checktest.State) func(*checktest.Master) { return func(m *checktest.Master) { m.Set(s) } }
	tests := []struct {
		name   string
		set    func(*checktest.Master)
		want   check.State
		reason check.Reason
		detail string
	}{
		{"a catalog", func(*checktest.Master) {}, check.StateOK, check.OK, ""},
		{"an empty catalog", catalog(200, `{"name":"a","resources":[]}`), check.StateOK, check.OK, ""},
		{"broken code", catalog(500, broken), check.StateBad, check.CompileFailed, "Syntax error at '}'"},
		{"no JRuby in time", catalog(503, "Attempt to borrow a JRubyInstance from the pool timed out."), check.StateBad,
			check.CompileFailed, "timed out"},
		{"a very long message", catalog(500, strings.Repeat("no ", 10_000)), check.StateBad, check.CompileFailed, "no no"},
		{"no resources", catalog(200, `{"name":"a"}`), check.StateBad, check.CompileFailed, "not a catalog"},
		{"no name", catalog(200, `{"resources":[]}`), check.StateBad, check.CompileFailed, "not a catalog"},
		{"null", catalog(200, `null`), check.StateBad, check.CompileFailed, "not a catalog"},
		{"a web page", catalog(200, `<html>`), check.StateBad, check.CompileFailed, "not a catalog"},
		{"truncated", catalog(200, `{"name":"a","resources":[{"type"`), check.StateBad, check.CompileFailed, "not a catalog"},
		{"denied", catalog(403, `{"message":"Forbidden request"}`), check.StateNone, check.NotKnown, "denied"},
		{"no such environment", catalog(404, `{"message":"Could not find environment 'x'"}`), check.StateNone,
			check.NotKnown, "Could not find"},
		{"stuck", state(checktest.JRubyStuck), check.StateBad, check.CompileFailed, ""},
		{"stopped", state(checktest.Stopped), check.StateNone, check.NotKnown, "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.set(m)
			c := newCompile(t, m)
			if m.State() == checktest.JRubyStuck {
				c.Client.Timeout = 100 * time.Millisecond
			}
			got := c.Check(context.Background())
			if got.State != tt.want || got.Reason != tt.reason || !strings.Contains(got.Detail, tt.detail) {
				t.Fatalf("%s, %s, %q; want %s, %s, %q", got.State, got.Reason, got.Detail, tt.want, tt.reason, tt.detail)
			}
			if (got.Health == check.Unhealthy) != (got.State == check.StateBad) {
				t.Errorf("health %q with the state %s", got.Health, got.State)
			}
			if len(got.Detail) > 600 || strings.ContainsAny(got.Detail, "\x1b\n") {
				t.Errorf("the detail has %d bytes: %q", len(got.Detail), got.Detail)
			}
		})
	}
}

func TestSlowCompilationIsAWarning(t *testing.T) {
	c := schedule(t, newMaster(t), func(s *check.CompileSettings) { s.SlowAfter = time.Nanosecond })
	got := c.Check(context.Background())
	if got.State != check.StateWarn || got.Health != check.Busy || got.Reason != check.CompileSlow ||
		!strings.HasSuffix(got.Value, "s") {
		t.Errorf("%s, %q, %s, %q", got.State, got.Health, got.Reason, got.Value)
	}
}

// A compilation that ends because the daemon exits says nothing about the master.
func TestCanceledCompilationIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := newCompile(t, newMaster(t)).Check(ctx); got.State != check.StateNone {
		t.Errorf("%s, %s", got.State, got.Reason)
	}
}

// Puppet Server denies a certificate every catalog but its own node's. probe.certname names
// the server, whose certificate may be another.
func TestCatalogIsOfTheNodeOfTheOwnCertificate(t *testing.T) {
	m := newMaster(t)
	leaf, err := m.CA.Issue(checktest.Template{Name: "m1.example.test"})
	if err != nil {
		t.Fatal(err)
	}
	install(t, m, leaf)
	m.SetCatalog(403, `{"message":"Forbidden request"}`)
	m.SetAnswer("/puppet/v3/catalog/m1.example.test", 500, `{"message":"Syntax error"}`)
	if got := newCompile(t, m).Check(t.Context()); got.Reason != check.CompileFailed {
		t.Errorf("%s, %s, %s", got.State, got.Reason, got.Detail)
	}
	if err := os.Remove(m.Files().Key); err != nil {
		t.Fatal(err)
	}
	if got := newCompile(t, m).Check(t.Context()); got.State != check.StateNone || got.Health != "" {
		t.Errorf("without a key: %s, %s", got.State, got.Detail)
	}
}

func TestJRubyFindingFollowsTheMaster(t *testing.T) {
	m := newMaster(t)
	j := schedule(t, m, func(s *check.JRubySettings) { s.StuckAfter = time.Millisecond })
	ask := func(want check.State, reason check.Reason, questions int64) {
		t.Helper()
		before := m.Questions()
		got := j.Check(context.Background())
		if got.State != want || got.Reason != reason {
			t.Errorf("%s, %s, %q; want %s, %s", got.State, got.Reason, got.Detail, want, reason)
		}
		if asked := m.Questions() - before; asked != questions {
			t.Errorf("asked %d times, want %d", asked, questions)
		}
	}
	ask(check.StateOK, check.OK, 1)
	m.SetPool(check.Pool{Size: 2})
	ask(check.StateWarn, check.JRubyWarming, 2) // a count of zero is confirmed by a second question
	m.SetPool(check.Pool{Size: 2, Free: 1, Borrowed: []check.Loan{{Request: "GET /", Seconds: 5}}})
	ask(check.StateOK, check.OK, 1)
	m.Set(checktest.JRubyStuck)
	for j.Check(t.Context()).Reason != check.JRubyStuck { // a loan younger than 1 ms counts as 0
	}
	m.Set(checktest.Garbage)
	ask(check.StateNone, check.NotKnown, 1)
	m.Set(checktest.Denied)
	ask(check.StateNone, check.NotKnown, 1)
	ask(check.StateNone, check.NotKnown, 2) // once under each name of the service
	m.Set(checktest.Stopped)
	ask(check.StateNone, check.NotKnown, 0)
}

// A master that does not answer is assumed to be starting, unless it has answered since
// its last restart.
func TestSilentMasterMayBeStarting(t *testing.T) {
	m := newMaster(t)
	j := schedule(t, m, func(*check.JRubySettings) {})
	ask := func(want check.Health) {
		t.Helper()
		if got := j.Check(t.Context()); got.State != check.StateNone || got.Health != want {
			t.Errorf("%s, health %q; want unknown, %q", got.State, got.Health, want)
		}
	}
	m.Set(checktest.Stopped)
	ask(check.Warming)
	m.Set(checktest.Running)
	if got := j.Check(t.Context()); got.State != check.StateOK {
		t.Fatalf("%s, %s", got.State, got.Detail)
	}
	m.Set(checktest.Stopped)
	ask("")
	j.Restarted(false)
	ask(check.Warming)
	m.Set(checktest.Denied)
	ask("")
}

func TestJRubyFindsTheServiceOfPE(t *testing.T) {
	m := newMaster(t)
	m.SetAnswer("/status/v1/services/jruby-metrics", 404, "not found")
	m.SetAnswer("/status/v1/services/pe-jruby-metrics", 200,
		`{"status":{"experimental":{"metrics":{"num-jrubies":1,"num-free-jrubies":1,`+
			`"borrowed-instances":[],"requested-instances":[]}}}}`)
	j := schedule(t, m, func(*check.JRubySettings) {})
	for _, questions := range []int64{2, 1} {
		before := m.Questions()
		if got := j.Check(context.Background()); got.State != check.StateOK {
			t.Errorf("%s, %s", got.State, got.Detail)
		}
		if asked := m.Questions() - before; asked != questions {
			t.Errorf("asked %d times, want %d", asked, questions)
		}
	}
}
