package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

func TestChangeWritesAHold(t *testing.T) {
	t.Setenv("SUDO_USER", "")
	s, _ := newStore(t)
	got := put(t, s, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "a\nb", By: "alice",
		Until: hours(1), Path: "ignored"})
	want := drain.Hold{
		Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "a b", By: "alice",
		Since: noon, Until: hours(1), Path: filepath.Join(s.Persistent, "operator@ca.json"),
	}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	data, err := os.ReadFile(want.Path)
	must(t, err)
	const content = `{
  "mode": "drain",
  "reason": "a b",
  "by": "alice",
  "since": "2026-03-01T12:00:00Z",
  "until": "2026-03-01T13:00:00Z"
}
`
	if diff := cmp.Diff(content, string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestChangeKeepsTheStartOfAHoldInEffect(t *testing.T) {
	s, c := newStore(t)
	drop(t, s.UntilReboot, "operator.json", "{")
	for _, tc := range []struct {
		name  string
		hold  drain.Hold
		now   int
		since int
	}{
		{"over one that is unreadable", drain.Hold{Mode: drain.Drain, Reason: "one", Until: hours(2)}, 0, 0},
		{"reason, mode and end", drain.Hold{Mode: drain.Maint, Reason: "two", Until: hours(4)}, 1, 0},
		{"moved until reboot", drain.Hold{Mode: drain.Drain, UntilReboot: true, Until: hours(4)}, 1, 0},
		{"moved back", drain.Hold{Mode: drain.Drain, Until: hours(4)}, 3, 0},
		{"after its end", drain.Hold{Mode: drain.Drain}, 5, 5},
		{"clock set back", drain.Hold{Mode: drain.Drain}, 4, 4},
	} {
		c.set(hours(tc.now))
		tc.hold.Holder = "operator"
		got := put(t, s, tc.hold)
		if !got.Since.Equal(hours(tc.since)) || got.Mode != tc.hold.Mode || got.Reason != tc.hold.Reason ||
			got.Until != tc.hold.Until {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if all := s.Read().Holds(); len(all) != 1 || all[0] != got {
			t.Errorf("%s: all holds are %+v", tc.name, all)
		}
	}
}

func TestChangeRecordsSudoUser(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	for _, tt := range []struct{ sudo, by, who string }{
		{"alice", "", "alice"},
		{"alice", "job 7", "job 7"},
		{"root", "", "root"},
		{"", "", ""},
	} {
		t.Setenv("SUDO_USER", tt.sudo)
		if got := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, By: tt.by}).By; got != tt.who {
			t.Errorf("by %q, sudo by %q: %q, want %q", tt.by, tt.sudo, got, tt.who)
		}
	}
}

func TestChangeRefusesAnInvalidHold(t *testing.T) {
	for want, hold := range map[string]drain.Hold{
		`mode "" is not drain or maint`: {Holder: "a"},
		"holder: name":                  {Holder: "../a", Mode: drain.Drain},
		"service: name":                 {Holder: "a", Service: "../a", Mode: drain.Drain},
		"has passed":                    {Holder: "a", Mode: drain.Drain, Until: noon},
		"larger than":                   {Holder: "a", Mode: drain.Drain, Reason: strings.Repeat("x", 64<<10)},
	} {
		s, _ := newStore(t)
		if _, err := tryPut(s, hold); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		wantHolds(t, s, "")
	}
}

func TestChangeRemovesHoldsADayAfterTheirEnd(t *testing.T) {
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	c.set(hours(25).Add(-1))
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain})
	wantHolds(t, s, "a:drain b:drain")
	c.set(hours(25))
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain})
	wantHolds(t, s, "b:drain")
}

func TestChangeSeesTheHoldThatItReplaces(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "ca"})
	before := put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "x", Until: hours(1), UntilReboot: true})
	set, err := s.Change("operator", "", func(old drain.Hold) (drain.Hold, error) {
		if old != before {
			t.Errorf("it replaces %+v, want %+v", old, before)
		}
		old.Mode, old.Holder, old.Service = drain.Maint, "other", "ca" // of these only Mode is for next to choose
		return old, nil
	})
	want := before
	want.Mode = drain.Maint
	if err != nil || set != want {
		t.Errorf("it sets %+v, %v", set, err)
	}
	left := errors.New("left as it is")
	if _, err = s.Change("operator", "", func(drain.Hold) (drain.Hold, error) { return before, left }); err != left {
		t.Error(err)
	}
	wantHolds(t, s, "operator:maint:reboot operator@ca:drain")
}

// A writer that returns no hold lifts the one that it was shown, and no other.
func TestChangeLifts(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		s, clock := newStore(t)
		if replaces {
			put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: true})
		}
		put(t, s, drain.Hold{Holder: "a", Service: "ca", Mode: drain.Drain})
		set := put(t, s, drain.Hold{Holder: "a", Mode: drain.Maint, Until: hours(1)})
		var shown []drain.Hold
		lift := func(old drain.Hold) (drain.Hold, error) {
			shown = append(shown, old)
			return drain.Hold{}, nil
		}
		for range 2 {
			if left, err := s.Change("a", "", lift); err != nil || left != (drain.Hold{}) {
				t.Errorf("%+v, %v", left, err)
			}
		}
		if !slices.Equal(shown, []drain.Hold{set, {}}) {
			t.Errorf("shown %v", shown)
		}
		wantHolds(t, s, "a@ca:drain")
		ended := put(t, s, drain.Hold{Holder: "a", Mode: drain.Maint, Until: hours(1)})
		clock.set(ended.Until)
		shown = nil
		if _, err := s.Change("a", "", lift); err != nil || !slices.Equal(shown, []drain.Hold{{}}) {
			t.Errorf("one that has ended: %v, %v", err, shown)
		}
		must(t, os.WriteFile(filepath.Join(s.Persistent, "a.json"), []byte("{"), 0o644))
		shown = nil
		if _, err := s.Change("a", "", lift); err != nil || shown[0].Code != drain.Unreadable {
			t.Errorf("an unreadable one: %v, %v", err, shown)
		}
		wantHolds(t, s, "a@ca:drain")
	}
}
