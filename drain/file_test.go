package drain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

func TestParseIsStrict(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     drain.Hold
		err      string
	}{
		{name: "null is absent", in: `{"mode":"drain","until":null,"reason":null}`, want: drain.Hold{Mode: drain.Drain}},
		{
			name: "all fields",
			in: `{"mode":"maint","leaving":"turn","reason":"disk","by":"alice",` +
				`"since":"2026-03-01T13:00:00+01:00","until":"2026-03-01T13:30:00Z"}`,
			want: drain.Hold{Mode: drain.Maint, Leaving: drain.LeavingInTurn, Reason: "disk", By: "alice",
				Since: noon, Until: noon.Add(90 * time.Minute)},
		},
		{
			name: "text cannot control a terminal",
			in:   `{"mode":"drain","reason":"a\nb\u001b[2Jc\u202e ","by":"\tx"}`,
			want: drain.Hold{Mode: drain.Drain, Reason: "a b[2Jc", By: "x"},
		},
		{name: "64 KiB", in: `{"mode":"drain"}` + strings.Repeat(" ", 64<<10-16), want: drain.Hold{Mode: drain.Drain}},
		{name: "a byte more", in: `{"mode":"drain"}` + strings.Repeat(" ", 64<<10-15), err: "larger than 65536 bytes"},
		{name: "empty", in: "", err: "file is empty"},
		{name: "two objects", in: `{"mode":"maint"}{"mode":"ready"}`, err: "more data"},
		{name: "text behind it", in: `{"mode":"drain"} x`, err: "more data"},
		{name: "no mode", in: `{"reason":"x"}`, err: `mode "" is not`},
		{name: "ready is no wish", in: `{"mode":"ready"}`, err: `mode "ready" is not`},
		{name: "mode in another case", in: `{"mode":"Drain"}`, err: `mode "Drain" is not`},
		{name: "leaving as a later version may", in: `{"mode":"drain","leaving":"later"}`, err: `leaving "later" is not`},
		{name: "misspelt end", in: `{"mode":"drain","untill":"2026-03-01T13:30:00Z"}`, err: `unknown field "untill"`},
		{name: "end in the year 10000", in: `{"mode":"drain","until":"9999-12-31T23:59:59-01:00"}`, err: "year outside"},
		{name: "end without a zone", in: `{"mode":"drain","until":"2026-03-01 13:30"}`, err: "pars"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := drain.Parse([]byte(tc.in))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckNameRefusesUnsafeNames(t *testing.T) {
	for _, name := range []string{"a", "0", "pe-upgrade_2.1", strings.Repeat("x", 64)} {
		if err := drain.CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", ".a", "-a", "A", "a b", "a/b", "a@b", "é", "a\x00", strings.Repeat("x", 65)} {
		if drain.CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// FuzzHold: any bytes are a hold or an error, and a hold survives being written
// and read.
func FuzzHold(f *testing.F) {
	f.Add([]byte(`{"mode":"drain"}`))
	f.Add([]byte(`{"mode":"maint","reason":"a\tb","by":"é","since":"2026-03-01T13:00:00.123+01:00","until":null}`))
	f.Add([]byte(`{"mode":"drain","leaving":"spare","until":"9999-12-31T23:59:59.999999999Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		hold, err := drain.Parse(data)
		if err != nil {
			return
		}
		written, err := hold.Encode()
		if err != nil {
			t.Skip("escapes can make it larger than the limit")
		}
		if again, err := drain.Parse(written); err != nil || again != hold {
			t.Errorf("%v: %+v became %+v", err, hold, again)
		}
	})
}

// FuzzHoldName: whatever the name of a file in a directory of holds, it is no hold, it is one whose holder and service
// belong to no other file, or it is one that counts as maint.
func FuzzHoldName(f *testing.F) {
	f.Add("operator.json")
	f.Add("upgrade@ca.json")
	f.Add("a@b@c.json")
	f.Add("\x1b[2J\n.json")
	f.Add(".hidden.json")
	f.Add(strings.Repeat("x", 65) + ".json")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
			t.Skip("not the name of a file")
		}
		s := drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
		if err := os.WriteFile(filepath.Join(s.Persistent, name), []byte(`{"mode":"drain"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		holds := s.Read().Holds()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") {
			if len(holds) > 0 {
				t.Errorf("%q is a hold: %+v", name, holds)
			}
			return
		}

		holder, service, err := drain.SplitName(name)
		mode, again := drain.Drain, drain.FileName(holder, service)
		if err != nil {
			mode, again = drain.Maint, holder+".json"
		}
		if again != name || len(holds) != 1 || holds[0].Mode != mode || holds[0].Holder != holder ||
			holds[0].Service != service || len(holder) > 255 {
			t.Errorf("%q: %+v; %q, %q, %v", name, holds, holder, service, err)
		}
	})
}
