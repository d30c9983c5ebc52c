package monitor

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

var varies = regexp.MustCompile(` owner=("[^"]*"|[^ ]*)|level=INFO `)

func TestAuditLogsModesAndHolds(t *testing.T) {
	opened := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	clock := opened
	dir := t.TempDir()
	store := &drain.Store{Persistent: dir + "/a", UntilReboot: dir + "/b", Now: func() time.Time { return clock }}
	lift := func() {
		if _, err := store.LiftAll(); err != nil { // makes the directories
			t.Fatal(err)
		}
	}
	lift()
	log := &bytes.Buffer{}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	a := audit{slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: noTime}))}
	state := &State{}
	put := func(h drain.Hold) func() {
		return func() {
			h.By = "alice"
			if _, err := store.Put(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	torn := dir + "/a/torn.json"
	tear := func() {
		if err := os.WriteFile(torn, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(torn, opened, opened); err != nil {
			t.Fatal(err)
		}
	}
	mode := func(before, after, holders string) string {
		return "msg=\"mode changed\" service=server before=" + before + " mode=" + after + " hold=" + holders + "\n"
	}
	operator := func(what, rest string) string {
		return "msg=\"hold " + what + "\" hold=operator service=" + rest + "\n"
	}
	hour := clock.Add(time.Hour)
	maint := drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "kernel", Until: hour}
	untilReboot := drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Until: hour, UntilReboot: true}
	later := maint
	later.Until = hour.Add(1)
	const first = `"" mode=maint by=alice reason=kernel since=2026-11-22T09:01:00Z until=2026-11-22T10:00:00Z`
	const ofCA = "ca mode=drain by=alice since=2026-11-22T09:06:00Z until=2026-11-22T10:00:00Z until_reboot=true"
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"the daemon starts", func() {}, ""},
		{"set", put(drain.Hold{Holder: "operator", Mode: drain.Drain}), mode("ready", "drain", "operator") +
			operator("set", `"" mode=drain by=alice since=2026-11-22T09:01:00Z`)},
		{"nothing happens", func() {}, ""},
		{"a reason and an end", put(maint), mode("drain", "maint", "operator") + operator("changed", first)},
		{"another end", put(later), ""},
		{"lifted", lift, mode("maint", "ready", `""`) + operator("lifted", first)},
		{"on a service", put(untilReboot), operator("set", ofCA)},
		{"the daemon starts again", func() { state = &State{} }, operator("set", ofCA)},
		{"expired", func() { clock = hour }, operator("expired", ofCA)},
		{"long ago", func() {}, ""},
		{"torn", tear, mode("ready", "maint", "torn") + "level=ERROR msg=\"hold cannot be read, so it counts as maint\" " +
			"hold=torn service=\"\" mode=maint error=\"invalid character 'x' looking for beginning of value\" " +
			"since=2026-11-22T09:00:00Z path=" + torn + "\n"},
	} {
		step.do()
		next := &State{Published: clock, Holds: store.Read(), Services: []Service{{Name: Server}}}
		log.Reset()
		a.note(state, next)
		state = next
		if d := cmp.Diff(step.want, varies.ReplaceAllString(log.String(), "")); d != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, d)
		}
		clock = clock.Add(time.Minute)
	}
}

// A hold that was lifted and set again between two looks is another one.
func TestAuditTellsTwoHoldsOfOneHolderApart(t *testing.T) {
	at := func(minute int) drain.Hold {
		return drain.Hold{Holder: "a", Mode: drain.Drain, Since: time.Unix(int64(60*minute), 0)}
	}
	if find(at(1), []drain.Hold{at(2), at(1)}) != 1 || find(at(3), []drain.Hold{at(2), at(1)}) != -1 {
		t.Error("holds are not told apart by their beginning")
	}
}
