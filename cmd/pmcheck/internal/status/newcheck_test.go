package status_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// What follows is what the recipe in CONTRIBUTING asks for in Go, but for tests: the file of a check that runs on a
// schedule, and one of a check that looks at the results of the probe.

// backlogSettings say what to look at, and how much of it is too much.
type backlogSettings struct {
	Dir  string `yaml:"dir" path:"absolute"`
	Most int    `yaml:"most" min:"1" max:"1000"`
}

// backlog returns a check of files that wait in a directory.
func backlog() check.Check {
	return check.Check{
		Name:     "backlog",
		Severity: check.Warn,
		Reasons: []check.Cause{{
			Reason: "backlog-long",
			Owner:  check.OfMaster,
			Health: check.Unhealthy,
			Begins: "more files wait than backlog.most",
			Ends:   "fewer files wait",
			Hint:   "look at what should empty the directory",
		}},
		Settings: backlogSettings{Most: 10},
		Run:      check.Run(backlogSettings.run),
		Interval: time.Minute,
		Timeout:  time.Second,
	}
}

func (s backlogSettings) run(check.Host) check.Runner {
	if s.Dir == "" {
		return nil
	}
	return func(context.Context) check.Finding {
		f := check.Finding{Check: "backlog", State: check.StateOK, Reason: check.OK, Checked: time.Now()}
		files, err := os.ReadDir(s.Dir)
		if err != nil {
			f.State = check.StateNone
			f.Reason = check.NotKnown
			f.Detail = err.Error()
			return f
		}

		f.Value = fmt.Sprintf("%d files", len(files))
		if len(files) > s.Most {
			f.State = check.StateBad
			f.Health = check.Unhealthy
			f.Reason = "backlog-long"
			f.Detail = fmt.Sprintf("%d files wait, more than %d", len(files), s.Most)
		}
		return f
	}
}

// plain returns a check of the protocol that the master is asked by.
func plain() check.Check {
	return check.Check{
		Name:     "plain",
		Severity: check.Warn,
		Shared:   true,
		Reasons: []check.Cause{{
			Reason: "no-tls",
			Owner:  check.OfPmcheck,
			Begins: "an answer over plain HTTP",
			Ends:   "an answer over TLS",
			Hint:   "ask for https",
		}},
		Observe: func(any, *check.Seen) check.Observer {
			return func(r check.Result, now time.Time) check.Finding {
				f := check.Finding{Check: "plain", State: check.StateOK, Reason: check.OK, Checked: now, Value: r.TLS}
				if r.TLS == "" {
					f.State = check.StateWarn
					f.Reason = "no-tls"
					f.Detail = r.URL + " is without TLS"
				}
				return f
			}
		},
	}
}

// TestANewCheckIsOneValue: a check that is in the list has a severity and settings in pmcheck.yaml, runs, changes the
// verdict, and is shown, with nothing else written for it.
func TestANewCheckIsOneValue(t *testing.T) {
	three := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(three, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		yaml    string
		verdict string
		backlog check.Reason // empty: it is not shown
	}{
		{"the default is to warn", "backlog: {dir: DIR, most: 2}\n", "healthy", "backlog-long"},
		{"it ejects", "checks: {backlog: eject}\nbacklog: {dir: DIR, most: 2}\n", "unhealthy: backlog-long", "backlog-long"},
		{"nothing is wrong", "checks: {backlog: eject}\nbacklog: {dir: DIR}\n", "healthy", check.OK},
		{"it cannot find out", "checks: {backlog: eject}\nbacklog: {dir: DIR/missing}\n", "healthy", check.NotKnown},
		{"it is off", "checks: {backlog: off}\nbacklog: {dir: DIR, most: 2}\n", "healthy", ""},
		{"it has nothing to look at", "checks: {backlog: eject}\n", "healthy", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := watched(t, strings.ReplaceAll(tt.yaml, "DIR", three), tt.backlog)
			server := st.Services[0]
			if got := server.Verdict.String(); got != tt.verdict {
				t.Errorf("verdict %s, want %s", got, tt.verdict)
			}
			if got := reasonOf(server.Checks, "backlog"); got != tt.backlog {
				t.Errorf("the check says %q, want %q", got, tt.backlog)
			}
			if got := reasonOf(server.Checks, "plain"); got != check.OK {
				t.Errorf("the check of the result says %q, want ok", got)
			}
		})
	}
}

// TestTheSettingsOfANewCheckAreChecked: their names and bounds are in the value, and what masters share cannot eject.
func TestTheSettingsOfANewCheckAreChecked(t *testing.T) {
	for yaml, want := range map[string]string{
		"backlog: {most: 0}\n":       "backlog.most: 0 is out of range",
		"backlog: {dir: spool}\n":    "backlog.dir: spool is not an absolute path",
		"backlog: {least: 1}\n":      "unknown setting backlog.least",
		"checks: {backlog: fatal}\n": "checks.backlog: fatal is not one of eject, warn, off",
		"checks: {plain: eject}\n":   "checks.plain: cannot be eject",
	} {
		if _, err := load(yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", yaml, err, want)
		}
	}
}

func load(yaml string) (*config.Loaded, error) {
	checks := append(check.All(), backlog(), plain())
	return config.Load(config.Options{File: "test.yaml", Content: []byte(yaml), Checks: checks})
}

func reasonOf(list []check.Finding, name string) check.Reason {
	i := slices.IndexFunc(list, func(f check.Finding) bool { return f.Check == name })
	if i < 0 {
		return ""
	}
	return list[i].Reason
}

// watched returns the status of a healthy master with this configuration, as soon as the probe has a result, and the
// check backlog a finding if one is expected.
func watched(t *testing.T, yaml string, expected check.Reason) status.Status {
	t.Helper()
	dir := t.TempDir()
	m, err := checktest.NewMaster(dir, "puppet1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })

	loaded, err := load(yaml)
	if err != nil {
		t.Fatal(err)
	}
	c := loaded.Config
	c.Probe.Address = m.Address()
	c.Probe.Certname = m.Name
	c.Probe.Files = m.Files()

	ready := make(chan *monitor.State)
	ctx, cancel := context.WithCancel(t.Context())
	hooks := monitor.Hooks{
		Probed: func(drain.Service, time.Duration) {},
		Published: func(s *monitor.State) {
			found := expected == "" || reasonOf(s.Findings, "backlog") != ""
			if s.Judged() && found {
				select {
				case ready <- s:
				case <-ctx.Done():
				}
			}
		},
	}
	holds := &drain.Store{Persistent: dir + "/holds", UntilReboot: dir + "/run"}
	monitored := monitor.New(c, holds, slog.New(slog.DiscardHandler), hooks)
	done := make(chan struct{})
	go func() {
		defer close(done)
		monitored.Run(ctx)
	}()
	state := <-ready
	cancel()
	<-done
	return status.New(status.Facts{State: state, Settings: &c}, time.Now())
}
