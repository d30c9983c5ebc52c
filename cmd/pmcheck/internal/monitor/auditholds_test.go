package monitor

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

var ownerField = regexp.MustCompile(` owner=("[^"]*"|[^ ]*)`)

func TestAuditLogsTheBeginningAndTheEndOfEachHold(t *testing.T) {
	opened := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	clock := opened
	dir := t.TempDir()
	store := &drain.Store{Persistent: dir + "/a", UntilReboot: dir + "/b", Now: func() time.Time { return clock }}
	if _, err := store.LiftAll(); err != nil { // makes the directories
		t.Fatal(err)
	}
	a, log := newAudited()
	state := &State{}
	look := func() string {
		t.Helper()
		next := &State{Published: clock, Holds: store.Read()}
		a.holds(state, next)
		state = next
		said := ownerField.ReplaceAllString(log.String(), "")
		log.Reset()
		return strings.ReplaceAll(said, "level=INFO ", "")
	}
	put := func(h drain.Hold) func() {
		return func() {
			h.By = "alice"
			if _, err := store.Put(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	lift := func() {
		if _, err := store.LiftAll(); err != nil {
			t.Fatal(err)
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
	hour := clock.Add(time.Hour)
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"the daemon starts", func() {}, ""},
		{"set", put(drain.Hold{Holder: "operator", Mode: drain.Drain}),
			"msg=\"hold set\" hold=operator service=\"\" mode=drain by=alice since=2026-11-22T09:01:00Z\n"},
		{"nothing happens", func() {}, ""},
		{"a reason and an end", put(drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "kernel", Until: hour}),
			"msg=\"hold changed\" hold=operator service=\"\" mode=maint by=alice reason=kernel " +
				"since=2026-11-22T09:01:00Z until=2026-11-22T10:00:00Z\n"},
		{"another end", put(drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "kernel", Until: hour.Add(1)}), ""},
		{"lifted", lift,
			"msg=\"hold lifted\" hold=operator service=\"\" mode=maint by=alice reason=kernel " +
				"since=2026-11-22T09:01:00Z until=2026-11-22T10:00:00Z\n"},
		{"on a service, until reboot", put(drain.Hold{
			Holder: "operator", Service: "ca", Mode: drain.Drain, Until: hour, UntilReboot: true,
		}), "msg=\"hold set\" hold=operator service=ca mode=drain by=alice " +
			"since=2026-11-22T09:06:00Z until=2026-11-22T10:00:00Z until_reboot=true\n"},
		{"the daemon starts again", func() { state = &State{} },
			"msg=\"hold set\" hold=operator service=ca mode=drain by=alice " +
				"since=2026-11-22T09:06:00Z until=2026-11-22T10:00:00Z until_reboot=true\n"},
		{"expired", func() { clock = hour }, "msg=\"hold expired\" hold=operator service=ca mode=drain by=alice " +
			"since=2026-11-22T09:06:00Z until=2026-11-22T10:00:00Z until_reboot=true\n"},
		{"long ago", func() {}, ""},
		{"the daemon starts once more", func() { state = &State{} }, ""},
		{"torn", tear, "level=ERROR msg=\"hold cannot be read, so it counts as maint\" hold=torn service=\"\" mode=maint " +
			"error=\"invalid character 'x' looking for beginning of value\" since=2026-11-22T09:00:00Z path=" + torn + "\n"},
	} {
		step.do()
		if d := cmp.Diff(step.want, look()); d != "" {
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
