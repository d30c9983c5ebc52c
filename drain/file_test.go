package drain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pmcheck/pmcheck/drain"
)

func TestParseIsStrict(t *testing.T) {
	since, until := noon, noon.Add(90*time.Minute)
	for _, tc := range []struct {
		name, in string
		want     drain.Hold
		err      string
	}{
		{name: "mode alone", in: `{"mode":"drain"}`, want: drain.Hold{Mode: drain.Drain}},
		{name: "leaving", in: `{"mode":"drain","leaving":"turn"}`,
			want: drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn}},
		{name: "ready is no wish", in: `{"mode":"ready"}`, err: `mode "ready" is not`},
		{name: "leaving in another way", in: `{"mode":"drain","leaving":"firm"}`, err: `leaving "firm" is not`},
		{
			name: "all fields",
			in: `{"version":1,"mode":"maint","reason":"disk","by":"alice",` +
				`"since":"2026-03-01T13:00:00+01:00","until":"2026-03-01T13:30:00Z"}`,
			want: drain.Hold{Mode: drain.Maint, Reason: "disk", By: "alice", Since: since, Until: until},
		},
		{name: "null is absent", in: `{"mode":"drain","until":null,"reason":null}`, want: drain.Hold{Mode: drain.Drain}},
		{name: "white space around", in: " \n{ \"mode\" : \"drain\" }\n\n", want: drain.Hold{Mode: drain.Drain}},
		{
			name: "text cannot control a terminal",
			in:   `{"mode":"drain","reason":"a\nb\u001b[2Jc\u202e ","by":"\tx"}`,
			want: drain.Hold{Mode: drain.Drain, Reason: "a b [2Jc", By: "x"},
		},
		{name: "empty", in: "", err: "file is empty"},
		{name: "torn", in: `{"mode":"maint","rea`, err: "EOF"},
		{name: "not closed", in: `{"mode":"maint"`, err: "EOF"},
		{name: "zeros after a crash", in: "\x00\x00\x00", err: "invalid character"},
		{name: "not an object", in: `["drain"]`, err: "not a JSON object"},
		{name: "two objects", in: `{"mode":"maint"}{"mode":"ready"}`, err: "more data"},
		{name: "no mode", in: `{"reason":"x"}`, err: "no mode"},
		{name: "null mode", in: `{"mode":null}`, err: "no mode"},
		{name: "unknown mode", in: `{"mode":"down"}`, err: `mode "down" is not`},
		{name: "mode with space", in: `{"mode":" drain"}`, err: `mode " drain" is not`},
		{name: "mode in another case", in: `{"mode":"Drain"}`, err: `mode "Drain" is not`},
		{name: "misspelt end", in: `{"mode":"drain","untill":"2026-03-01T13:30:00Z"}`, err: `field "untill" is unknown`},
		{name: "field in another case", in: `{"mode":"drain","Until":"2026-03-01T13:30:00Z"}`,
			err: `field "Until" is unknown`},
		{name: "field twice", in: `{"mode":"maint","mode":"ready"}`, err: `field "mode" is unknown or given twice`},
		{name: "end without a zone", in: `{"mode":"drain","until":"2026-03-01 13:30"}`, err: "until: "},
		{name: "end is a duration", in: `{"mode":"drain","until":1800}`, err: "until: "},
		{name: "end is Go's zero time", in: `{"mode":"drain","until":"0001-01-01T00:00:00Z"}`, err: "until: year 1 is"},
		{name: "end before 1970", in: `{"mode":"drain","until":"1969-12-31T23:59:59Z"}`, err: "until: year 1969"},
		{name: "end after 9999 in UTC", in: `{"mode":"drain","until":"9999-12-31T23:59:59-01:00"}`, err: "until: year 10000"},
		{name: "later version", in: `{"version":2,"mode":"drain"}`, err: "version 2"},
		{name: "version in words", in: `{"version":"1","mode":"drain"}`, err: "version: "},
		{name: "too large", in: `{"mode":"drain","reason":"` + strings.Repeat("x", 64<<10) + `"}`,
			err: "larger than 65536 bytes"},
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

func TestEncodeRefusesWhatParseWould(t *testing.T) {
	for _, tc := range []struct {
		name string
		hold drain.Hold
	}{
		{"no mode", drain.Hold{}},
		{"unknown mode", drain.Hold{Mode: "down"}},
		{"end before 1970", drain.Hold{Mode: drain.Drain, Until: time.Unix(-1, 0)}},
		{"end after 9999", drain.Hold{Mode: drain.Drain, Until: time.Unix(1<<40, 0)}},
		{"long reason", drain.Hold{Mode: drain.Drain, Reason: strings.Repeat("é", 33<<10)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if data, err := tc.hold.Encode(); err == nil {
				t.Errorf("encoded to %d bytes", len(data))
			}
		})
	}
}

func TestCheckNameRefusesUnsafeNames(t *testing.T) {
	for _, name := range []string{"a", "0", "operator", "pe-upgrade_2.1", strings.Repeat("x", 64)} {
		if err := drain.CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", ".a", "-a", "_a", "A", "a b", "a/b", "a@b", "é", "a\x00", strings.Repeat("x", 65)} {
		if drain.CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// FuzzHold: any bytes are a hold or an error, and a hold survives being written
// and read.
func FuzzHold(f *testing.F) {
	f.Add([]byte(`{"mode":"drain"}`))
	f.Add([]byte(`{"version":1,"mode":"maint","reason":"a\tb","by":"é",` +
		`"since":"2026-03-01T13:00:00.123+01:00","until":null}`))
	f.Add([]byte(`{"mode":"drain","leaving":"spare","until":"9999-12-31T23:59:59.999999999Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		hold, err := drain.Parse(data)
		if err != nil {
			if hold != (drain.Hold{}) {
				t.Errorf("error %v with hold %v", err, hold)
			}
			return
		}
		written, err := hold.Encode()
		if err != nil {
			if len(data) > 8<<10 {
				t.Skip("escapes can make it larger than the limit")
			}
			t.Fatal(err)
		}
		again, err := drain.Parse(written)
		if err != nil {
			t.Fatalf("%v in %s", err, written)
		}
		if again != hold {
			t.Errorf("%+v became %+v", hold, again)
		}
	})
}
