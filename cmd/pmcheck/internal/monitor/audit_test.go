package monitor

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

// newAudited returns an audit and the buffer to which it logs, at level info and above
// and without times.
func newAudited() (audit, *bytes.Buffer) {
	log := &bytes.Buffer{}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return audit{slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: noTime}))}, log
}

func TestAuditNamesTheHoldsBehindAChangeOfTheMode(t *testing.T) {
	dir := t.TempDir()
	store := &drain.Store{Persistent: dir + "/a", UntilReboot: dir + "/b"}
	read := func() *State { return &State{Published: time.Now(), Holds: store.Read()} }
	put := func(holder string) {
		t.Helper()
		if _, err := store.Put(drain.Hold{Holder: holder, Mode: drain.Drain, By: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	missing := read()
	if _, err := store.LiftAll(); err != nil { // makes the directories
		t.Fatal(err)
	}
	free := read()
	put("a")
	one := read()
	put("b")
	two := read()
	owner := "(x as " + two.Holds.Holds()[0].Owner + ")"

	a, log := newAudited()
	a.mode(free, missing, Server)
	a.mode(missing, free, Server)
	a.mode(free, one, Server)
	a.mode(one, two, Server)
	a.mode(two, free, Server)
	want := `level=INFO msg="mode changed" service=server before=ready mode=maint ` +
		`hold="directory ` + dir + `/a; directory ` + dir + `/b"
level=INFO msg="mode changed" service=server before=maint mode=ready hold=""
level=INFO msg="mode changed" service=server before=ready mode=drain hold="a ` + owner + `"
level=INFO msg="mode changed" service=server before=drain mode=ready hold=""
`
	if d := cmp.Diff(want, log.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
