package bounded_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pmcheck/pmcheck/check/bounded"
)

func TestTextsAreCutAndTheRestStays(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"short ones", `{"a":["bcd",1,"x\"y"],"e":null}`, `{"a":["bcd",1,"x\"y"],"e":null}`},
		{"long ones", `{"aaaaaaaa":"bbbbbbbb","c":12345678}`, `{"aaaa":"bbbb","c":12345678}`},
		{"an escaped quotation mark", `["abc\"def","g"]`, `["abc\"","g"]`},
		{"an escaped backslash at the end", `["abc\\","g"]`, `["abc\\","g"]`},
		{"an escape too late", `["abcd\"e\\","g"]`, `["abcd","g"]`},
		{"digits", `["abc\u00e9def","g"]`, `["abc\u00e9","g"]`},
		{"digits too late", `["abcd\u00e9\u0022","g"]`, `["abcd","g"]`},
		{"half of a character", `["abcé"]`, "[\"abc\xc3\"]"},
		{"no JSON", "running", "running"},
		{"a page", `<a href="https://x">"`, `<a href="http">"`},
		{"without an end", `["abcdefg`, `["abcd`},
	} {
		for how, r := range map[string]io.Reader{
			"at once":      strings.NewReader(tt.json),
			"byte by byte": iotest.OneByteReader(strings.NewReader(tt.json)),
		} {
			got, err := io.ReadAll(bounded.Texts(r, 4))
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %s: %q, %v; want %q", tt.name, how, got, err, tt.want)
			}
		}
	}
}

// FuzzTexts: JSON stays JSON of the same shape, and its texts are cut.
func FuzzTexts(f *testing.F) {
	f.Add(`{"a":"\u00e9\\\"bcdefgh","c":[1,{"d":"éé"}]}`, 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		before, after := json.Valid([]byte(text)), false
		got, err := io.ReadAll(bounded.Texts(strings.NewReader(text), max(0, most)))
		if err != nil || len(got) > len(text) {
			t.Fatalf("%q, %v", got, err)
		}
		if after = json.Valid(got); before && !after {
			t.Errorf("%q of %q", got, text)
		}
	})
}
