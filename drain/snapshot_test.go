package drain_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

type files map[string]string

func (f files) snapshot(t *testing.T) drain.Snapshot {
	t.Helper()
	s, _ := newStore(t)
	for name, content := range f {
		drop(t, s.Persistent, name+".json", content)
	}
	return s.Read()
}

const (
	drained  = `{"mode":"drain"}`
	maint    = `{"mode":"maint"}`
	turn     = `{"mode":"drain","leaving":"turn"}`
	slot     = `{"mode":"drain","leaving":"slot"}`
	spare    = `{"mode":"maint","leaving":"spare"}`
	over     = `{"mode":"maint","until":"2026-03-01T12:00:00Z"}`
	justHeld = `{"mode":"drain","until":"2026-03-01T12:00:01Z"}`
)

func TestStrictestHoldIsTheMode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   files
		service drain.Service
		want    drain.Mode
		by      string
	}{
		{"no hold", nil, "", drain.Ready, ""},
		{"the strictest wins", files{"a": drained, "b": maint}, "", drain.Maint, "b:maint"},
		{"every holder that asks for it is named", files{"b": drained, "a": drained}, "", drain.Drain, "a:drain b:drain"},
		{"a service of its own", files{"a@ca": maint, "b": drained}, "ca", drain.Maint, "a@ca:maint"},
		{"the hold of another service", files{"a@ca": maint, "b": drained}, "server", drain.Drain, "b:drain"},
		{"a hold on one service does not hold every service", files{"a@ca": maint}, "", drain.Ready, ""},
		{"expired", files{"a": over, "b": justHeld}, "", drain.Drain, "b:drain"},
		{"unreadable for one service", files{"a@ca": "{"}, "ca", drain.Maint, "a@ca:maint:hold-unreadable"},
		{"unreadable for another service", files{"a@ca": "{"}, "server", drain.Ready, ""},
		{"a name without a valid holder", files{"A@ca": drained}, "server", drain.Maint, "A@ca:maint:hold-unreadable"},
		{"a name without a valid service", files{"a@CA": drained}, "server", drain.Maint, "a@CA:maint:hold-unreadable"},
	} {
		snapshot := tc.files.snapshot(t)
		clear(snapshot.Holds()) // which are the caller's
		got, by := snapshot.Mode(tc.service, noon)
		if got != tc.want || describe(by) != tc.by {
			t.Errorf("%s: %s by %s, want %s by %s", tc.name, got, describe(by), tc.want, tc.by)
		}
	}
}

func TestLeastPatientHoldDecides(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files files
		want  drain.Leaving
	}{
		{"no hold", nil, drain.Firm},
		{"a hold that waits", files{"a": turn}, drain.LeavingInTurn},
		{"a slot", files{"a": turn, "b": slot}, drain.LeavingWithSlot},
		{"a stop whose turn is over", files{"a": slot, "b": spare}, drain.LeavingBesideSpare},
		{"a hold that does not say", files{"a": spare, "b": drained}, drain.Firm},
		{"another service", files{"a@ca": drained, "b": turn}, drain.LeavingInTurn},
		{"unreadable", files{"a": "{", "b": turn}, drain.Firm},
		{"over", files{"a": over, "b": turn}, drain.LeavingInTurn},
	} {
		if got := tc.files.snapshot(t).Leaving("server", noon); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestZeroSnapshotIsNotReady(t *testing.T) {
	if got, _ := (drain.Snapshot{}).Mode("", noon); got != drain.Maint {
		t.Errorf("mode %s, want maint", got)
	}
}
