package drain_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

func TestPutWritesAHold(t *testing.T) {
	t.Setenv("SUDO_USER", "")
	s, _ := newStore(t)
	got := put(t, s, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "a\nb", By: "alice",
		Until: hours(1), Path: "ignored"})
	if got.Owner == "" {
		t.Error("no owner")
	}
	got.Owner = ""
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
	if string(data) != content {
		t.Errorf("file is %s", data)
	}
}

func TestPutKeepsTheStartOfAHoldInEffect(t *testing.T) {
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "one", Until: hours(2)})
	c.set(hours(1))
	for _, tc := range []struct {
		name  string
		hold  drain.Hold
		now   int
		since int
	}{
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

func TestPutReplacesAnUnreadableHold(t *testing.T) {
	s, _ := newStore(t)
	drop(t, s.Persistent, "operator.json", "{")
	drop(t, s.UntilReboot, "operator.json", "{")
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain})
	wantHolds(t, s, "operator:drain")
}

func TestPutRecordsSudoUser(t *testing.T) {
	needRoot(t)
	t.Setenv("SUDO_USER", "alice")
	s, _ := newStore(t)
	if got := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain}); got.Who() != "alice as root" {
		t.Errorf("who is %q", got.Who())
	}
	if got := put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, By: "job 7"}); got.Who() != "job 7 as root" {
		t.Errorf("who is %q", got.Who())
	}
}

func TestPutRefusesAnInvalidHold(t *testing.T) {
	for _, tc := range []struct {
		name string
		hold drain.Hold
		want string
	}{
		{"unknown mode", drain.Hold{Holder: "a", Mode: "Drain"}, `mode "Drain" is not drain or maint`},
		{"no mode", drain.Hold{Holder: "a"}, `mode "" is not drain or maint`},
		{"no holder", drain.Hold{Mode: drain.Drain}, "holder: name"},
		{"path as holder", drain.Hold{Holder: "../a", Mode: drain.Drain}, "holder: name"},
		{"path as service", drain.Hold{Holder: "a", Service: "../a", Mode: drain.Drain}, "service: name"},
		{"end in the past", drain.Hold{Holder: "a", Mode: drain.Drain, Until: noon}, "has passed"},
		{"reason of 64 KiB", drain.Hold{Holder: "a", Mode: drain.Drain, Reason: strings.Repeat("x", 64<<10)}, "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			if _, err := s.Put(tc.hold); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			wantHolds(t, s, "")
		})
	}
}

func TestPutRemovesHoldsADayAfterTheirEnd(t *testing.T) {
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	c.set(hours(25).Add(-1))
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain})
	wantHolds(t, s, "a:drain b:drain")
	c.set(hours(25))
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain})
	wantHolds(t, s, "b:drain")
}

func TestPutFailsWithoutADirectory(t *testing.T) {
	s, _ := newStore(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{"", file, filepath.Join(file, "holds")} {
		s.Persistent = dir
		_, putErr := s.Put(drain.Hold{Holder: "a", Mode: drain.Drain})
		var we *drain.WriteError
		if !errors.As(putErr, &we) || errors.Is(putErr, fs.ErrPermission) {
			t.Errorf("directory %q: error %v", dir, putErr)
		}
		wantMode(t, s, "", drain.Maint)
	}
}

func TestMakeUntilRebootMakesThatDirectoryAlone(t *testing.T) {
	s, _ := newStore(t)
	must(t, os.Remove(s.UntilReboot))
	must(t, os.Remove(s.Persistent))
	must(t, s.MakeUntilReboot())
	must(t, s.MakeUntilReboot()) // there already
	info, err := os.Stat(s.UntilReboot)
	must(t, err)
	if got := info.Mode().Perm(); got != 0o755 {
		t.Errorf("mode %o, want 755: the daemon's user has to read it", got)
	}
	if _, err := os.Stat(s.Persistent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the persistent directory: %v, want that it does not exist", err)
	}
	mode, because := s.Read().Mode("server", noon)
	if mode != drain.Maint || len(because) != 1 || because[0].Path != s.Persistent {
		t.Errorf("mode %s by %+v, want maint by the persistent directory alone", mode, because)
	}
}

func TestChangeSeesTheHoldThatItReplaces(t *testing.T) {
	store, clock := newStore(t)
	until := hours(1)
	put(t, store, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "x", Until: until, UntilReboot: true})
	put(t, store, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "ca"})
	change := func(mode drain.Mode) (old, set drain.Hold) {
		t.Helper()
		set, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
			old = o
			o.Mode, o.Holder, o.Service = mode, "other", "ca" // only Mode is for next to choose
			return o
		})
		if err != nil {
			t.Fatal(err)
		}
		return old, set
	}
	old, set := change(drain.Maint)
	if old.Reason != "x" || !old.UntilReboot || !old.Until.Equal(until) {
		t.Errorf("it replaces %+v", old)
	}
	if set.Holder != "operator" || set.Service != "" || set.Mode != drain.Maint || set.Reason != "x" || !set.UntilReboot {
		t.Errorf("it sets %+v", set)
	}
	clock.set(until) // from here on the hold counts no more
	if _, err := store.Put(drain.Hold{Holder: "operator", Mode: drain.Drain, Until: until}); err == nil {
		t.Fatal("a hold that has ended was set")
	}
	_, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
		if o != (drain.Hold{}) {
			t.Errorf("a hold that has ended is replaced: %+v", o)
		}
		return drain.Hold{Mode: drain.Drain}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two writers that each add to the reason must not lose a word.
func TestChangeIsNotInterruptedByAnotherWriter(t *testing.T) {
	store, _ := newStore(t)
	const writers, times = 4, 5
	done := make(chan error, writers)
	for range writers {
		go func() {
			for range times {
				_, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
					o.Mode = drain.Drain
					o.Reason += "x"
					return o
				})
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := store.Read().Holds()[0].Reason; len(got) != writers*times {
		t.Errorf("%d of %d changes are left", len(got), writers*times)
	}
}

func TestUndoTakesBackOnlyTheHoldThatWasSet(t *testing.T) {
	own := drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "own"}
	before := drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "before", Until: hours(1), UntilReboot: true}
	brief := own
	brief.Until = hours(2)
	for _, tt := range []struct {
		name   string
		before drain.Hold // zero: there is none
		set    drain.Hold
		during func(t *testing.T, s *drain.Store, c *clock)
		gone   bool
		want   string // the hold that is left
	}{
		{"no hold before", drain.Hold{}, own, nil, false, ""},
		{"a hold before, until reboot", before, own, nil, false, "before"},
		{"the hold before has ended", before, own, func(_ *testing.T, _ *drain.Store, c *clock) {
			c.set(hours(1))
		}, false, ""},
		{"another writer has set it again", drain.Hold{}, own, func(t *testing.T, s *drain.Store, _ *clock) {
			put(t, s, drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "own", Until: hours(2)})
		}, true, "own"},
		{"another writer has set it again over one before", before, own, func(t *testing.T, s *drain.Store, _ *clock) {
			put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "another"})
		}, true, "another"},
		{"another writer has set it again, and the one before has ended", before, own,
			func(t *testing.T, s *drain.Store, c *clock) {
				put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "another"})
				c.set(hours(1))
			}, true, "another"},
		{"another writer has lifted it", before, own, func(t *testing.T, s *drain.Store, _ *clock) {
			_, err := s.Lift("operator", "")
			must(t, err)
		}, true, ""},
		{"it has ended", drain.Hold{}, brief, func(_ *testing.T, _ *drain.Store, c *clock) { c.set(hours(2)) }, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, clock := newStore(t)
			var was drain.Hold
			if tt.before.Mode != "" {
				was = put(t, store, tt.before)
			}
			other := put(t, store, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "ca"})
			set := put(t, store, tt.set)
			if tt.during != nil {
				tt.during(t, store, clock)
			}
			restored, err := store.Undo(set, was)
			if errors.Is(err, drain.ErrNotFound) != tt.gone || err != nil && !tt.gone {
				t.Errorf("undone: %v", err)
			}
			var left []drain.Hold
			for _, h := range store.Read().At(clock.now()).Holds() {
				if h != other {
					left = append(left, h)
				}
			}
			switch {
			case tt.want == "" && len(left) > 0, tt.want != "" && (len(left) != 1 || left[0].Reason != tt.want):
				t.Errorf("left: %+v, want %q", left, tt.want)
			case tt.want == "before" && left[0] != was:
				t.Errorf("put back: %+v, want %+v", left[0], was)
			case restored != (tt.want == "before"):
				t.Errorf("restored: %v", restored)
			}
		})
	}
}
