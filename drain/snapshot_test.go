package drain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestStrictestHoldIsTheMode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		service string
		want    drain.Mode
		by      string
	}{
		{name: "no hold", want: drain.Ready},
		{
			name:  "one hold",
			files: map[string]string{"operator.json": `{"mode":"drain"}`},
			want:  drain.Drain, by: "operator:drain",
		},
		{
			name:  "the strictest wins",
			files: map[string]string{"a.json": `{"mode":"drain"}`, "b.json": `{"mode":"maint"}`},
			want:  drain.Maint, by: "b:maint",
		},
		{
			name:  "every holder that asks for it is named",
			files: map[string]string{"b.json": `{"mode":"drain"}`, "a.json": `{"mode":"drain"}`},
			want:  drain.Drain, by: "a:drain b:drain",
		},
		{
			name:  "a service of its own",
			files: map[string]string{"a@ca.json": `{"mode":"maint"}`, "b.json": `{"mode":"drain"}`},
			want:  drain.Maint, by: "a@ca:maint", service: "ca",
		},
		{
			name:  "the hold of another service",
			files: map[string]string{"a@ca.json": `{"mode":"maint"}`, "b.json": `{"mode":"drain"}`},
			want:  drain.Drain, by: "b:drain", service: "server",
		},
		{
			name:  "a hold on one service does not hold every service",
			files: map[string]string{"a@ca.json": `{"mode":"maint"}`},
			want:  drain.Ready,
		},
		{
			name: "expired",
			files: map[string]string{"a.json": `{"mode":"maint","until":"2026-03-01T12:00:00Z"}`,
				"b.json": `{"mode":"drain","until":"2026-03-01T12:00:01Z"}`},
			want: drain.Drain, by: "b:drain",
		},
		{
			name:  "unreadable for one service",
			files: map[string]string{"a@ca.json": `{`},
			want:  drain.Maint, by: "a@ca:maint:hold-unreadable", service: "ca",
		},
		{
			name:  "unreadable for one service does not hold another",
			files: map[string]string{"a@ca.json": `{`},
			want:  drain.Ready, service: "server",
		},
		{
			name:  "a name without a valid service holds every service",
			files: map[string]string{"a@CA.json": `{"mode":"drain"}`},
			want:  drain.Maint, by: "a@CA:maint:hold-unreadable", service: "server",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, c := newStore(t)
			for name, content := range tc.files {
				drop(t, s.Persistent, name, content)
			}
			got, by := s.Read().Mode(tc.service, c.now())
			if got != tc.want || describe(by) != tc.by {
				t.Errorf("%s by %s, want %s by %s", got, describe(by), tc.want, tc.by)
			}
		})
	}
}

func TestZeroSnapshotIsNotReady(t *testing.T) {
	if got, _ := (drain.Snapshot{}).Mode("", noon); got != drain.Maint {
		t.Errorf("mode %s, want maint", got)
	}
	for _, m := range []drain.Mode{drain.Ready, drain.Drain} {
		if !drain.Mode("").StricterThan(m) {
			t.Errorf("no mode is not stricter than %s", m)
		}
	}
}

func TestChangingReturnedHoldsKeepsTheSnapshot(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	snap := s.Read()
	snap.Holds()[0].Mode = drain.Ready
	_, by := snap.Mode("", noon)
	by[0].Mode = drain.Ready
	if got, _ := snap.Mode("", noon); got != drain.Drain {
		t.Errorf("mode %s after a change of a copy", got)
	}
}

func TestClockSetBackRevivesAHold(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Maint, Until: hours(1)})
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, Until: hours(3)})
	snap := s.Read()
	for _, step := range []struct {
		now  time.Time
		want drain.Mode
		live string
	}{
		{hours(0), drain.Maint, "a:maint b:drain"},
		{hours(1).Add(-1), drain.Maint, "a:maint b:drain"},
		{hours(1), drain.Drain, "b:drain"},
		{hours(3), drain.Ready, ""},
		{hours(2), drain.Drain, "b:drain"},
		{hours(-100), drain.Maint, "a:maint b:drain"},
		{hours(1e5), drain.Ready, ""},
	} {
		mode, _ := snap.Mode("", step.now)
		live := describe(snap.At(step.now).Holds())
		if mode != step.want || live != step.live {
			t.Errorf("at %s: %s by %q, want %s by %q", step.now, mode, live, step.want, step.live)
		}
	}
}

func TestExpiredReportsEachEndOnce(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, Until: hours(2)})
	put(t, s, drain.Hold{Holder: "c", Mode: drain.Drain})
	snap := s.Read()
	for _, tc := range []struct {
		since, now int
		want       string
	}{
		{0, 0, ""}, {0, 1, "a:drain"}, {1, 1, ""}, {1, 2, "b:drain"}, {0, 9, "a:drain b:drain"}, {2, 9, ""}, {2, 0, ""},
	} {
		if got := describe(snap.Expired(hours(tc.since), hours(tc.now))); got != tc.want {
			t.Errorf("from %d h to %d h: %q, want %q", tc.since, tc.now, got, tc.want)
		}
	}
}

func TestHoldJSONLeavesOutWhatIsNotKnown(t *testing.T) {
	for _, tc := range []struct {
		name string
		hold drain.Hold
		want string
	}{
		{
			name: "all fields",
			hold: drain.Hold{
				Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "disk", By: "alice", Owner: "root",
				Since: noon, Until: hours(1), UntilReboot: true, Path: "/h/operator@ca.json", Code: drain.Unreadable, Error: "why",
			},
			want: `{"holder":"operator","service":"ca","mode":"drain","reason":"disk","by":"alice","owner":"root",` +
				`"since":"2026-03-01T12:00:00Z","until":"2026-03-01T13:00:00Z","until_reboot":true,` +
				`"path":"/h/operator@ca.json","code":"hold-unreadable","error":"why"}`,
		},
		{
			name: "what is not known is left out",
			hold: drain.Hold{Holder: "initial", Mode: drain.Maint},
			want: `{"holder":"initial","mode":"maint","until_reboot":false}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(tc.hold)
			if err != nil || string(got) != tc.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, tc.want)
			}
		})
	}
}

func TestWhoNamesOwnerAndClaim(t *testing.T) {
	for want, h := range map[string]drain.Hold{
		"":              {},
		"root":          {Owner: "root"},
		"bob":           {Owner: "bob", By: "bob"},
		"alice as root": {Owner: "root", By: "alice"},
	} {
		if got := h.Who(); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}

func TestLeastPatientHoldDecides(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  drain.Leaving
	}{
		{"no hold", nil, drain.Firm},
		{"a hold that waits", map[string]string{"a.json": `{"mode":"drain","leaving":"turn"}`}, drain.LeavingInTurn},
		{"a slot", map[string]string{
			"a.json": `{"mode":"drain","leaving":"turn"}`,
			"b.json": `{"mode":"drain","leaving":"spare"}`,
		}, drain.LeavingBesideSpare},
		{"a hold that does not say", map[string]string{
			"a.json": `{"mode":"maint","leaving":"spare"}`,
			"b.json": `{"mode":"drain"}`,
		}, drain.Firm},
		{"another service", map[string]string{
			"a@ca.json": `{"mode":"drain"}`,
			"b.json":    `{"mode":"drain","leaving":"turn"}`,
		}, drain.LeavingInTurn},
		{"unreadable", map[string]string{"a.json": `{`, "b.json": `{"mode":"drain","leaving":"turn"}`}, drain.Firm},
		{"over", map[string]string{
			"a.json": `{"mode":"drain","until":"2000-01-01T00:00:00Z"}`,
			"b.json": `{"mode":"drain","leaving":"turn"}`,
		}, drain.LeavingInTurn},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, c := newStore(t)
			for name, content := range tc.files {
				drop(t, s.Persistent, name, content)
			}
			if got := s.Read().Leaving("server", c.now()); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
