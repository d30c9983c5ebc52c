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
  "version": 1,
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

func TestPutSweepsTemporaryFiles(t *testing.T) {
	s, _ := newStore(t)
	for _, name := range []string{".a.json123", ".a@ca.json9", ".lock5"} {
		drop(t, s.Persistent, name, "{")
		drop(t, s.UntilReboot, name, "{")
	}
	others := []string{".a.json", ".a.tmp", ".backup.json.tmp", ".123"}
	for _, name := range others {
		drop(t, s.Persistent, name, "{")
	}
	wantHolds(t, s, "")
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain})
	if left := temporaries(t, s.UntilReboot); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	if left := temporaries(t, s.Persistent); len(left) != len(others) {
		t.Errorf("left %q, want %q", left, others)
	}
}

func TestPutAndLiftFailWithoutADirectory(t *testing.T) {
	s, _ := newStore(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{"", file, filepath.Join(file, "holds")} {
		s.Persistent = dir
		_, putErr := s.Put(drain.Hold{Holder: "a", Mode: drain.Drain})
		_, liftErr := s.Lift("a", "")
		for _, err := range []error{putErr, liftErr} {
			var we *drain.WriteError
			if !errors.As(err, &we) || errors.Is(err, fs.ErrPermission) {
				t.Errorf("directory %q: error %v", dir, err)
			}
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
