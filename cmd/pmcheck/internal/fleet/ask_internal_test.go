package fleet

import (
	"net/http"
	"testing"
	"time"
)

// FuzzUnchangedFor: whatever dates a member of the fleet sends, it has served for a time that they say, or for none.
func FuzzUnchangedFor(f *testing.F) {
	const date, before = "Thu, 26 Nov 2026 12:00:00 GMT", "Thu, 26 Nov 2026 11:59:30 GMT"
	f.Add(date, before)
	f.Add(before, date)
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0000 00:00:00 GMT")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, date, since string) {
		got := unchangedFor(http.Header{"Date": {date}, "Last-Modified": {since}})
		said, err := http.ParseTime(date)
		began, err2 := http.ParseTime(since)
		if got < 0 || got > 0 && (err != nil || err2 != nil || said.Sub(began) != got) {
			t.Errorf("%q since %q: %s", date, since, got)
		}
	})
}

func TestAMemberThatDoesNotSayHasJustChanged(t *testing.T) {
	const date = "Thu, 26 Nov 2026 12:00:00 GMT"
	for since, want := range map[string]time.Duration{
		"Thu, 26 Nov 2026 11:59:30 GMT": 30 * time.Second,
		"Thu, 26 Nov 2026 12:00:01 GMT": 0, // its clock was set back
		"30 seconds":                    0,
		"":                              0,
	} {
		if got := unchangedFor(http.Header{"Date": {date}, "Last-Modified": {since}}); got != want {
			t.Errorf("since %q: %s, want %s", since, got, want)
		}
	}
}

func TestAMemberThatHasThisMastersNameIsThisMaster(t *testing.T) {
	named := func(name string) http.Header {
		h := http.Header{}
		h.Set(NameHeader, name)
		return h
	}
	for _, tt := range []struct {
		answer   http.Header
		certname string
		want     bool
	}{
		{named("m1.example"), "m1.example", true},
		{named("m2.example"), "m1.example", false},
		{named(""), "", false},
		{http.Header{}, "m1.example", false},
	} {
		if got := isNamesake(tt.answer, tt.certname); got != tt.want {
			t.Errorf("%v for %q: %v, want %v", tt.answer, tt.certname, got, tt.want)
		}
	}
}
