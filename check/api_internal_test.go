package check

import (
	"context"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestOnlyRunningIsOK(t *testing.T) {
	const pool, simple, puppet4, puppet3 = 0, 2, 5, 6 // questions
	for _, tt := range []struct {
		name   string
		asked  int
		status int
		body   string
		want   Reason
	}{
		{"running", simple, 200, "running", OK},
		{"empty", simple, 200, "", puppetclient.BadResponse},
		{"running inside a page", simple, 200, "<p>not running</p>", puppetclient.BadResponse},
		{"503 with running", simple, 503, "running", HTTPError},
		{"503 with a word of no state", simple, 503, "busy", HTTPError},
		{"starting", simple, 503, "starting", StateStarting},
		{"stopping", pool, 503, `{"state":"stopping"}`, StateStopping},
		{"redirect", simple, 302, "running", HTTPError},
		{"alive", puppet3, 200, `{"is_alive":true,"version":"3.8.7"}`, OK},
		{"not alive", puppet4, 200, `{"is_alive":false}`, puppetclient.BadResponse},
		{"the pool of a running server", pool, 200, `{"state":"running"}`, OK},
		{"the pool of no state", pool, 200, `{"status":"running"}`, puppetclient.BadResponse},
		{"denied", puppet3, 403, "", AuthDenied},
	} {
		got := OK
		a := response{puppetclient.Response{Status: tt.status, Body: []byte(tt.body)}, questions("")[tt.asked], false}
		if fault := a.fault(); fault != nil {
			got = fault.Reason
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzAnswer: only a 200 is OK, whatever the body contains.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"running", "error", "", `{"is_alive":true,"version":"3.8.7"}`, `[[[[`} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, path := range questions("") {
			fault := response{puppetclient.Response{Status: status, Body: body}, path, false}.fault()
			if fault == nil && status != 200 {
				t.Errorf("%s: status %d with %q counts as OK", path, status, body)
			}
			if fault != nil && (fault.Reason == "" || fault.Error() == "") {
				t.Errorf("%s: fault without a reason for status %d with %q", path, status, body)
			}
		}
	})
}

// TestASearchThatIsCutOffConcludesNothing: what was found before does not keep the next probe from searching.
func TestASearchThatIsCutOffConcludesNothing(t *testing.T) {
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	denied := puppetclient.Response{Status: 403, Body: []byte("Forbidden request: "), Proved: true}
	p := &Prober{searched: time.Now(), found: questions("")[4], denies: true, provedAll: true}
	p.Address, p.Credentials = "127.0.0.1:1", &puppetclient.Credentials{}
	if a, err := p.search(cut, response{Response: denied, path: questions("")[4]}); err == nil {
		t.Fatalf("%d without any master", a.Status)
	}
	if !p.searched.IsZero() || p.denies {
		t.Errorf("searched at %s, denies %v", p.searched, p.denies)
	}
}
