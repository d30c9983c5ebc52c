package monitor

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// TestAuditLogsWhatNoVerdictShows: a warning that takes nothing out is logged when it begins and ends.
func TestAuditLogsWhatNoVerdictShows(t *testing.T) {
	varies := regexp.MustCompile(`(?m)^time=\S+ | hint="[^"]*"`)
	log, state := &bytes.Buffer{}, &State{}
	a := audit{slog.New(slog.NewTextHandler(log, nil))}
	denied := check.Finding{Check: check.CheckJRuby, State: check.StateWarn, Reason: check.AuthDenied, Detail: "403"}
	good := check.Finding{Check: check.CheckJRuby, State: check.StateOK, Reason: check.OK}
	busy := check.Finding{Check: check.CheckJRuby, State: check.StateWarn, Health: check.Busy, Reason: check.JRubyBusy}
	shown := busy
	shown.Severity = check.Eject
	unknown := check.Finding{Check: check.CheckJRuby, State: check.StateNone, Reason: check.NotKnown}
	const begins = "level=WARN msg=\"check warns\" check=jruby reason=auth-denied detail=403\n"
	const ends = "level=INFO msg=\"check no longer warns\" check=jruby reason=auth-denied\n"
	for _, step := range []struct {
		name    string
		finding check.Finding
		want    string
	}{
		{"good", good, ""},
		{"denied", denied, begins},
		{"still denied", denied, ""},
		{"good again", good, ends},
		{"denied again", denied, begins},
		{"busy, which a verdict shows", shown, ends},
		{"busy, of a check that only warns", busy,
			"level=WARN msg=\"check warns\" check=jruby reason=jruby-busy detail=\"\"\n"},
		{"not known", unknown, "level=INFO msg=\"check no longer warns\" check=jruby reason=jruby-busy\n"},
	} {
		next := &State{Published: time.Now(), Findings: []check.Finding{step.finding}}
		log.Reset()
		a.note(state, next)
		state = next
		if d := cmp.Diff(step.want, varies.ReplaceAllString(log.String(), "")); d != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, d)
		}
	}
}

func TestAuditLogsHolds(t *testing.T) {
	varies := regexp.MustCompile(`(?m)^time=\S+ (level=INFO )?| \([^)]*\)`)
	opened := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	clock, hour := opened, opened.Add(time.Hour)
	dir := t.TempDir()
	store := &drain.Store{Persistent: dir + "/a", UntilReboot: dir + "/b", Now: func() time.Time { return clock }}
	log, state := &bytes.Buffer{}, &State{}
	a := audit{slog.New(slog.NewTextHandler(log, nil))}
	set := func(h drain.Hold) func() error {
		h.Holder = "operator"
		return func() error {
			_, err := store.Change(h.Holder, h.Service, func(drain.Hold) (drain.Hold, error) { return h, nil })
			return err
		}
	}
	lift := func() error { _, err := store.LiftAll(); return err }
	torn := dir + "/a/torn.json"
	tear := func() error { return os.WriteFile(torn, []byte("x"), 0o600) }
	operator := func(what, hold string) string {
		return "msg=\"hold " + what + "\" hold=\"" + hold + "\"\n"
	}
	until := hour.Local().Format(", until 2006-01-02 15:04:05 MST")
	kernel, ofCA := "maint by operator: kernel"+until, "drain by operator on ca"+until+" or reboot"
	first := set(drain.Hold{Mode: drain.Maint, Reason: "kernel", Until: hour})
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"the daemon starts", lift, ""},
		{"set", set(drain.Hold{Mode: drain.Drain}), operator("set", "drain by operator, no end")},
		{"a reason and an end", first, operator("changed", kernel)},
		{"another end", set(drain.Hold{Mode: drain.Maint, Reason: "kernel", Until: hour.Add(1)}), ""},
		{"lifted and set again, between two looks", func() error { return errors.Join(lift(), first()) },
			operator("lifted", kernel) + operator("set", kernel)},
		{"lifted", lift, operator("lifted", kernel)},
		{"leaving", set(drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn}),
			operator("set", "drain by operator, leaving, no end")},
		{"its work begins", set(drain.Hold{Mode: drain.Drain}), operator("changed", "drain by operator, no end")},
		{"lifted after that", lift, operator("lifted", "drain by operator, no end")},
		{"on a service", set(drain.Hold{Service: "ca", Mode: drain.Drain, Until: hour, UntilReboot: true}),
			operator("set", ofCA)},
		{"the daemon starts again", func() error { state = &State{}; return nil }, operator("set", ofCA)},
		{"expired", func() error { clock = hour; return nil }, operator("expired", ofCA)},
		{"torn", tear, "level=ERROR msg=\"hold cannot be read, so it counts as maint\" " +
			"hold=\"maint by torn: hold-unreadable: " + torn + ": invalid character 'x' looking for beginning of value\"\n"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		next := &State{Published: clock, Holds: store.Read(), Services: []Service{{Name: drain.Master}}}
		log.Reset()
		a.note(state, next)
		state = next
		if d := cmp.Diff(step.want, varies.ReplaceAllString(log.String(), "")); d != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, d)
		}
		clock = clock.Add(time.Minute)
	}
}
