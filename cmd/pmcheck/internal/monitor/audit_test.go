package monitor

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
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
	return newAudit(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: noTime}))), log
}

func TestAuditSkipsTheCountingOfJRubies(t *testing.T) {
	verdict := func(h check.Health, r check.Reason) *Service {
		return &Service{Name: Server, Verdict: check.Verdict{Health: h, Reason: r}}
	}
	unprobed, healthy := verdict(check.Unknown, check.NotProbed), verdict(check.Healthy, check.OK)
	unread, broken := verdict(check.Warming, check.JRubyUnread), verdict(check.Unhealthy, check.OwnCertRefused)
	a, log := newAudited()
	last := unprobed
	for _, now := range []*Service{unprobed, unread, healthy, unread, healthy, broken, unread, healthy} {
		a.verdict(last, now)
		last = now
	}
	want := `level=INFO msg="verdict changed" service=server before=unknown verdict=healthy reason=ok
level=WARN msg="verdict changed" service=server before=healthy verdict=unhealthy reason=own-certificate-refused ` +
		`hint="the server's own CRL or CA bundle may be out of date: see puppetserver.log"
level=INFO msg="verdict changed" service=server before=unhealthy verdict=healthy reason=ok
`
	if d := cmp.Diff(want, log.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
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
