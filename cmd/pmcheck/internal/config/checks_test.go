package config_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// queueSettings are the settings of a check that pmcheck does not have.
type queueSettings struct {
	Dir      string        `yaml:"dir" path:"absolute"`
	Server   string        `yaml:"server" target:"localhost:1234"`
	Longest  int           `yaml:"longest" min:"1" max:"1000"`
	Interval time.Duration `yaml:"interval" min:"1s" max:"7d"`
}

// withQueue returns all checks and one more, as a new file in package check would
// add it.
func withQueue() check.List {
	s := &queueSettings{Dir: "/var/spool/reports", Longest: 100, Interval: time.Minute}
	return append(check.All(), check.Check{
		Name:     "queue",
		Title:    "reports that wait to be sent",
		Severity: check.Warn,
		Reasons:  []check.Cause{{Reason: "queue-long", Hint: "look at puppetserver.log"}},
		Settings: s,
		Schedule: func(check.Host) *check.Scheduled {
			return &check.Scheduled{Interval: s.Interval, Check: func(context.Context) check.Finding {
				return check.Finding{Check: "queue", State: check.StateOK, Reason: check.OK, Threshold: s.Dir}
			}}
		},
	})
}

func TestNewCheckNeedsNoChangeHere(t *testing.T) {
	l, err := config.Check(config.Options{
		File:    write(t, "checks: {queue: eject}\nqueue:\n  dir: /srv/reports\n  interval: 2d\n"),
		Environ: []string{"PMCHECK_QUEUE_LONGEST=7"},
		Checks:  withQueue,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := values(l, "checks.queue", "queue.dir", "queue.server", "queue.longest", "queue.interval")
	want := []string{
		"checks.queue: eject # " + l.File + ":1",
		"queue.dir: /srv/reports # " + l.File + ":3",
		`queue.server: "" # default`,
		"queue.longest: 7 # environment PMCHECK_QUEUE_LONGEST",
		"queue.interval: 2d # " + l.File + ":4",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	queue := l.Config.Checks[len(l.Config.Checks)-1]
	if queue.Severity != check.Eject || check.Settings[queueSettings](l.Config.Checks).Longest != 7 {
		t.Errorf("not configured: %s, %+v", queue.Severity, queue.Settings)
	}
	scheduled := queue.Schedule(check.Host{})
	if f := scheduled.Check(t.Context()); scheduled.Interval != 48*time.Hour || f.Threshold != "/srv/reports" {
		t.Errorf("runs every %s with %s, not as configured", scheduled.Interval, f.Threshold)
	}
}

func TestNewCheckIsValidated(t *testing.T) {
	file := write(t, "checks: {queu: off, queue: maybe}\n"+
		"queue: {dir: reports, server: ':1', longest: 0, interval: 8d, lenght: 1}\n")
	_, err := config.Check(config.Options{File: file, Checks: withQueue})
	if err == nil {
		t.Fatal("accepted")
	}
	want := `F:1: unknown setting checks.queu (did you mean checks.queue?)
F:1: checks.queue: maybe is not one of eject, warn, off
F:2: unknown setting queue.lenght
F:2: queue.dir: reports is not an absolute path
F:2: queue.server: :1 is not a host and port (such as localhost:1234)
F:2: queue.longest: 0 is out of range (1 to 1000)
F:2: queue.interval: 8d is out of range (1s to 7d)`
	if d := cmp.Diff(want, strings.ReplaceAll(err.Error(), file, "F")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestKeysAreUnique(t *testing.T) {
	l, err := config.Check(config.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range l.Settings() {
		if seen[s.Key] || strings.HasSuffix(s.Key, ".") || s.Key == "" {
			t.Errorf("key %q is empty or has two settings", s.Key)
		}
		seen[s.Key] = true
	}
}

func TestParseDurationNeedsAUnit(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"2s": 2 * time.Second, "1m30s": 90 * time.Second, "1.5h": 90 * time.Minute, "0": 0, "-1s": -time.Second,
		"30d": 30 * day, "2w": 14 * day, "1d12h": 36 * time.Hour,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"5":       "5 needs a unit (5s or 5m)",
		"1500":    "1500 needs a unit (1500ms or 1500s)",
		"soon":    "soon is not a duration (such as 2s, 1500ms or 1m30s)",
		"":        `"" is not a duration (such as 2s, 1500ms or 1m30s)`,
		"1.5d":    "1.5d is not a duration (such as 2s, 1500ms or 1m30s)",
		"999999d": "999999d is not a duration (such as 2s, 1500ms or 1m30s)",
	} {
		if d, err := config.ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%s: %s, %v; want %s", text, d, err, want)
		}
	}
}
